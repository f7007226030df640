import { AppError, invalidField } from '../kernel/errors.ts'
import type { Caller } from '../kernel/rest-parts.ts'
import type { Reference } from '../kernel/secrets/references.ts'
import { hashOf } from '../servers/shared/compare-listed-definitions.ts'
import { outgoingIn } from '../servers/shared/definition/outgoing.ts'
import { namesLike } from '../servers/shared/definition/server-name.ts'
import { explained } from '../servers/shared/diagnosis.ts'
import type { FindProgram } from '../servers/stdio/actions/diagnose.ts'
import { isolationOver } from '../servers/stdio/isolation-settings.ts'
import {
  factsOf,
  NO_FACTS,
  type SnippetInput,
  type SnippetItem,
  type SnippetReport,
} from './import.schema.ts'
import { apply, type RegisterDeps, register } from './import-apply.ts'
import { type Existing, plan } from './import-plan.ts'
import { parseSnippet, readSnippet, type Snippet, type SnippetEntry } from './read/snippet/snippet.ts'
import { notesLeft, placeholdersIn, withValues } from './snippet-values.ts'
import { type Fields, isNamed, type KnownServer } from './stdio-and-http-servers.ts'
import {
  type Definition,
  importNotes,
  translateDefinition,
} from './translate/translate-definition-references.ts'
import type { Surroundings } from './translate/translate-references.ts'
import { README_FORMS } from './translate/translate-references.ts'

interface Deps extends RegisterDeps, Surroundings {
  readonly isSet: (reference: Reference) => boolean
  readonly findProgram: FindProgram
}

/** Registers the servers of pasted snippets. Never starts a server, and overwrites one only on request. */
export function createSnippetImport(deps: Deps) {
  const { kinds, home, isOwnSetting, isSet, findProgram, namedSecrets } = deps

  async function importOne(entry: SnippetEntry, input: SnippetInput, by: Caller): Promise<SnippetItem> {
    const source = { forms: README_FORMS, home, inputs: entry.inputs, isOwnSetting }
    const translated = translateDefinition(entry.definition, () => source)
    const given = withValues(translated.definition, input.values ?? {}, isSet)
    const definition = withIsolation(given.definition, input)
    const update = input.on_conflict === 'update'
    const known = await kinds.list()
    const name = entry.isNameless && !update ? freeName(entry.name, definition, known) : entry.name
    const problem = translated.problem ?? kinds.problem(name, definition)
    const planned = plan({ problem, existing: existingServer(name, definition, known) }, update)
    const found = { name, definition, enabled: entry.enabled }
    const options = planned.outcome === 'updated' ? { ...input, pin: false } : input
    const done = await apply(planned, input.dry_run, async () => {
      for (const [secret, value] of given.secrets) await namedSecrets.set(secret, value, by)
      return register(found, planned.id, options, deps, by)
    })
    const { outcome, id, reason } = done
    if (outcome === 'unchanged' && !input.dry_run) await kinds.allow(id, input.allow_outgoing, by)
    const outgoing =
      (outcome !== 'exists' && !input.dry_run && (await kinds.outgoing(id))) ||
      outgoingIn(definition, input.allow_outgoing)
    return {
      name,
      type: definition.type,
      outcome,
      id,
      reason,
      ...factsOf(definition, entry.enabled, outgoing),
      ...partsOf(definition, findProgram),
      placeholders: placeholdersIn(definition, isSet),
      notes: [
        ...notesLeft(entry.notes, translated.definition, definition),
        ...translated.notes,
        ...importNotes(definition),
        ...done.notes,
      ],
    }
  }

  return {
    async run(input: SnippetInput, by: Caller): Promise<SnippetReport> {
      const { entries, refused } = named(snippetOf(input), input.name)
      const items: SnippetItem[] = []
      for (const entry of entries) items.push(await importOne(entry, input, by))
      items.push(...refused.map(refusedItem))
      return { dry_run: input.dry_run ?? false, items, total: items.length }
    },
  }
}
export type SnippetImport = ReturnType<typeof createSnippetImport>

function snippetOf({ snippet, mcpServers, servers, inputs }: SnippetInput): Snippet {
  const given = [snippet, mcpServers, servers].filter((part) => part !== undefined)
  if (given.length !== 1) {
    throw new AppError('invalid_input', 'Send exactly one of snippet, mcpServers and servers', {
      errors: [{ path: '', message: 'must contain exactly one of snippet, mcpServers and servers' }],
    })
  }
  return snippet === undefined
    ? readSnippet({ mcpServers: mcpServers ?? servers, inputs })
    : parseSnippet(snippet)
}

/** The snippet, with the name that the user gave to its only server. */
function named(snippet: Snippet, name: string | undefined): Snippet {
  if (name === undefined) return snippet
  const [only, ...others] = snippet.entries
  if (!only || others.length > 0)
    throw invalidField('/name', `is for a snippet with one server; this one has ${snippet.entries.length}`)
  return { ...snippet, entries: [{ ...only, name, isNameless: false }] }
}

/** The given isolation is that of every STDIO server of the snippet. */
function withIsolation(definition: Definition, { isolation, isolation_options }: SnippetInput): Definition {
  if (definition.type === 'http') return definition
  return { ...definition, ...(isolation && { isolation }), ...(isolation_options && { isolation_options }) }
}

/** The name of an entry without one is the first that is free, or whose server has this definition. */
function freeName(name: string, definition: Definition, known: readonly KnownServer[]): string {
  for (const like of namesLike(name)) {
    const existing = existingServer(like, definition, known)
    if (!existing || existing.isSame) return like
  }
  return name
}

/** The server with this name, of the kind of the definition if there is one. */
function existingServer(
  name: string,
  definition: Definition,
  known: readonly KnownServer[],
): Existing | undefined {
  const all = known.filter(isNamed(name))
  const server = all.find(({ type }) => type === definition.type) ?? all[0]
  if (!server) return undefined
  return {
    id: server.id,
    isSame: hasDefinition(server, definition),
    isFixed: server.type !== definition.type,
  }
}

/** A field that is not given is no difference, except the working folder. */
function hasDefinition(server: KnownServer, definition: Definition): boolean {
  const { type, ...given } = definition
  if (server.type !== type) return false
  const isolated =
    server.type === 'stdio' && definition.type === 'stdio' && isolationOver(server.definition, definition)
  const wanted = { ...(isolated && { cwd: null }), ...given, ...isolated }
  const before: Fields = server.definition
  return Object.entries(wanted).every(
    ([field, value]) => hashOf({ [field]: value }) === hashOf({ [field]: before[field] }),
  )
}

type Parts = Pick<SnippetItem, 'env' | 'headers' | 'cwd' | 'program'>
const NO_PARTS: Parts = { env: [], headers: [], cwd: null, program: null }

/** What the definition sets, by name only, and whether its program is on this computer. */
function partsOf(definition: Definition, findProgram: FindProgram): Parts {
  if (definition.type === 'http') return { ...NO_PARTS, headers: Object.keys(definition.headers) }
  const { command, env, cwd = null } = definition
  const found = findProgram({ command, env, cwd })
  const detail = found.ok ? `The program is ${found.path}` : explained(found)
  return { env: Object.keys(env), headers: [], cwd, program: { ok: found.ok, detail } }
}

const refusedItem = ({ name, reason }: Snippet['refused'][number]): SnippetItem => ({
  name,
  type: null,
  outcome: 'refused',
  id: null,
  reason,
  ...NO_FACTS,
  ...NO_PARTS,
  placeholders: [],
  notes: [],
})
