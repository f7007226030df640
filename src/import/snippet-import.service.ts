import { AppError, invalidField } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import { explained } from '../servers/shared/diagnosis.ts'
import { namesLike } from '../servers/shared/server-name.ts'
import type { FindProgram } from '../servers/stdio/actions/diagnose.ts'
import type { ImportTarget } from './import-target.ts'
import { applyOptions, type OptionDeps } from './options/apply-options.ts'
import { factsOf, NO_FACTS } from './options/import-fields.ts'
import { importNotes } from './options/import-notes.ts'
import { parseSnippet, readSnippet, type Snippet, type SnippetEntry } from './read/snippet/snippet.ts'
import type { ImportInput, ImportItem, ImportReport } from './snippet-import.schema.ts'
import { README_FORMS } from './translate/translate.ts'
import { translateDefinition } from './translate/translate-definition.ts'

type Definition = SnippetEntry['definition']

interface Deps extends OptionDeps {
  readonly stdio: ImportTarget<Extract<Definition, { type: 'stdio' }>>
  readonly http: ImportTarget<Extract<Definition, { type: 'http' }>>
  /** `${userHome}`. */
  readonly home: string
  readonly findProgram: FindProgram
}

type Result = Pick<ImportItem, 'outcome' | 'id'> & {
  readonly reason?: string
  readonly notes?: readonly string[]
}

/** Registers the servers of pasted snippets. Never starts a server, and overwrites one only on request. */
export function createImporter(deps: Deps) {
  /** The kind of the definition, and the other one. */
  const targetsFor = ({ type }: Definition) => {
    const { stdio, http } = deps as Record<Definition['type'], ImportTarget<Definition>>
    return type === 'stdio' ? ([stdio, http] as const) : ([http, stdio] as const)
  }

  /** The name of an entry without one is the first that is free, or whose server has this definition. */
  async function placed(entry: SnippetEntry, { on_conflict }: ImportInput): Promise<SnippetEntry> {
    if (!entry.isNameless || on_conflict === 'update') return entry
    const { definition } = entry
    const [own, other] = targetsFor(definition)
    for (const name of namesLike(entry.name)) {
      const found = await own.find(name)
      const isFree = !found && !(await other.find(name))
      if (isFree || found?.isSame(definition)) return { ...entry, name }
    }
    return entry
  }

  async function register(
    { name, definition, enabled }: SnippetEntry,
    input: ImportInput,
    by: Caller,
  ): Promise<Result> {
    const [target, other] = targetsFor(definition)
    const problem = target.problem(name, definition)
    if (problem !== undefined) return { outcome: 'refused', id: null, reason: problem }
    const existing = await target.find(name)
    if (existing?.isSame(definition))
      return { outcome: 'unchanged', id: existing.id, reason: 'The server already has this definition' }
    if (existing && input.on_conflict === 'update') {
      if (input.dry_run) return { outcome: 'updated', id: existing.id }
      const applied = await applyOptions(slugOf(name), definition, { ...input, pin: false }, deps, by)
      await target.change(existing.id, applied.definition, by)
      return { outcome: 'updated', id: existing.id, notes: applied.notes }
    }
    const conflict = existing ?? (await other.find(name))
    if (conflict) {
      const reason = 'A server with this name is already registered with a different definition'
      return { outcome: 'exists', id: conflict.id, reason }
    }
    if (input.dry_run) return { outcome: 'created', id: null }
    const applied = await applyOptions(slugOf(name), definition, input, deps, by)
    const { id } = await target.add(name, applied.definition, { start_mode: input.start_mode, enabled }, by)
    return { outcome: 'created', id, notes: applied.notes }
  }

  /** The entry with its references in Toolroom's syntax, or the reason why it cannot be imported. */
  function translated(entry: SnippetEntry) {
    const { home, isOwnSetting } = deps
    const source = { forms: README_FORMS, home, inputs: entry.inputs, isOwnSetting }
    const { definition, notes, problem } = translateDefinition(entry.definition, () => source)
    return { entry: { ...entry, definition, notes: [...entry.notes, ...notes] }, problem }
  }

  return {
    async run(input: ImportInput, by: Caller): Promise<ImportReport> {
      const { entries, refused } = named(snippetOf(input), input.name)
      const items: ImportItem[] = []
      for (const written of entries) {
        const { entry: found, problem } = translated(written)
        const entry = await placed(withIsolation(found, input), input)
        const { name, definition, enabled } = entry
        const result: Result =
          problem === undefined
            ? await register(entry, input, by).catch(refusal)
            : { outcome: 'refused', id: null, reason: problem }
        const notes = [...entry.notes, ...importNotes(definition), ...(result.notes ?? [])]
        const { outcome, id, reason = null } = result
        items.push({
          name,
          type: definition.type,
          outcome,
          id,
          reason,
          ...factsOf(definition, enabled),
          ...partsOf(definition, deps.findProgram),
          notes,
        })
      }
      for (const { name, reason } of refused) {
        items.push({
          name,
          type: null,
          outcome: 'refused',
          id: null,
          reason,
          ...NO_FACTS,
          ...NO_PARTS,
          notes: [],
        })
      }
      return { dry_run: input.dry_run ?? false, items, total: items.length }
    },
  }
}
export type Importer = ReturnType<typeof createImporter>

/** The given isolation is that of every STDIO server of the snippet. */
function withIsolation(entry: SnippetEntry, { isolation, isolation_options }: ImportInput): SnippetEntry {
  const { definition } = entry
  if (definition.type === 'http') return entry
  return {
    ...entry,
    definition: {
      ...definition,
      ...(isolation && { isolation }),
      ...(isolation_options && { isolation_options }),
    },
  }
}

function snippetOf({ snippet, mcpServers, servers, inputs }: ImportInput): Snippet {
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

/** With the name that the user gave to the only server of a snippet. */
function named(snippet: Snippet, name: string | undefined): Snippet {
  if (name === undefined) return snippet
  const [only, ...others] = snippet.entries
  if (!only || others.length > 0)
    throw invalidField('/name', `is for a snippet with one server; this one has ${snippet.entries.length}`)
  return { ...snippet, entries: [{ ...only, name, isNameless: false }] }
}

type Parts = Pick<ImportItem, 'env' | 'headers' | 'cwd' | 'program'>
const NO_PARTS: Parts = { env: [], headers: [], cwd: null, program: null }

/** What the definition sets, by name only, and whether its program is on this computer. */
function partsOf(definition: Definition, findProgram: FindProgram): Parts {
  if (definition.type === 'http') return { ...NO_PARTS, headers: Object.keys(definition.headers ?? {}) }
  const { command, env, cwd = null } = definition
  const found = findProgram({ command, env, cwd })
  const detail = found.ok ? `The program is ${found.path}` : explained(found)
  return { env: Object.keys(env), headers: [], cwd, program: { ok: found.ok, detail } }
}

/** An entry that cannot be registered does not prevent the others. A failure of the store does. */
function refusal(error: unknown): Result {
  if (!(error instanceof AppError) || error.status >= 500) throw error
  return { outcome: 'refused', id: null, reason: error.message }
}
