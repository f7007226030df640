import { AppError, invalidField } from '../../../kernel/errors.ts'
import { type Caller, slugOf } from '../../../kernel/wire.ts'
import { hashOf } from '../../../servers/shared/definition/definition-hash.ts'
import { type ChoiceDeps, importChoice } from './choices.ts'
import { type Definition, separateSecrets, withoutMasked } from './definition.ts'
import type { ExportedServer } from './export.service.ts'
import { openSecrets, type Secrets } from './seal.ts'
import { applyAll, type Step } from './steps.ts'
import type { ExportFile, Imported, ImportedServer, ImportInput, ImportReport } from './transfer.schema.ts'

/** One kind of server as the import uses it. */
export interface ImportKind {
  /** Why the definition cannot be registered, or undefined. */
  problem(definition: Definition): string | undefined
  add(definition: Definition, by: Caller): Promise<{ readonly id: string }>
  /** Changes the given fields. */
  change(id: string, definition: Definition, by: Caller): Promise<unknown>
  remove(id: string, by: Caller): Promise<void>
}

export interface ImportDeps {
  readonly servers: () => Promise<readonly ExportedServer[]>
  readonly kinds: { readonly [K in ExportedServer['type']]: ImportKind }
  readonly namedSecrets: {
    current(name: string): string | undefined
    set(name: string, value: string, by: Caller): Promise<unknown>
    remove(name: string, by: Caller): Promise<void>
  }
  readonly agents: ChoiceDeps
  readonly presets: ChoiceDeps
}

interface Candidate {
  readonly id: string
  readonly type: ExportedServer['type']
  readonly name: string
  readonly definition: Definition
}

/** Imports an exported file. The whole file is checked first; nothing is started. */
export function createImport(deps: ImportDeps) {
  const { kinds, namedSecrets } = deps

  function checkChoices({ agents, presets }: ExportFile): void {
    for (const [index, { tools }] of agents.entries()) {
      const problem = tools === null ? undefined : deps.agents.problem(tools)
      if (problem !== undefined) throw invalid(`Agent ${index + 1}`, `/file/agents/${index}/tools`, problem)
    }
    for (const [index, { choice }] of presets.entries()) {
      const problem = deps.presets.problem(choice)
      if (problem !== undefined)
        throw invalid(`Preset ${index + 1}`, `/file/presets/${index}/choice`, problem)
    }
  }

  function candidatesIn({ servers }: ExportFile, secrets: Secrets['servers']): Candidate[] {
    const names = new Set<string>()
    return servers.map(({ id, type, definition: shown }, index) => {
      const refuse = (problem: string) =>
        invalid(`Server ${index + 1}`, `/file/servers/${index}/definition`, problem)
      const definition = { ...shown, ...(Object.hasOwn(secrets, id) ? secrets[id] : {}) }
      const problem = kinds[type].problem(withoutMasked(definition).rest)
      if (problem !== undefined) throw refuse(problem)
      const name = String(definition.name)
      if (names.has(slugOf(name))) throw refuse('name is used by an earlier entry')
      names.add(slugOf(name))
      return { id, type, name, definition }
    })
  }

  function planServer(
    candidate: Candidate,
    known: readonly ExportedServer[],
    update: boolean,
  ): Step<ImportedServer> {
    const { type, name, definition } = candidate
    const kind = kinds[type]
    const existing = known.find(
      ({ id, definition: { name: taken } }) => taken === name || id === slugOf(name),
    )
    const item = { name, type, id: existing?.id ?? null, reason: null, notes: [] }
    if (existing && isSame(existing, candidate))
      return { item: { ...item, outcome: 'unchanged', reason: 'The server already has this definition' } }
    if (existing && (existing.type !== type || !update)) {
      const reason = 'A server with this name is already registered with a different definition'
      return { item: { ...item, outcome: 'exists', reason } }
    }
    if (existing)
      return {
        item: { ...item, outcome: 'updated' },
        apply: async (by) => {
          await kind.change(existing.id, definition, by)
          return existing.id
        },
        undo: (id, by) => kind.change(id, existing.definition, by),
      }
    const { rest, missing, broken } = withoutMasked(definition)
    if (broken.length > 0) {
      const contain = broken.length === 1 ? 'contains' : 'contain'
      const reason = `${broken.join(' and ')} ${contain} a secret that is not in the file. Export it with include_secrets`
      return { item: { ...item, outcome: 'refused', reason } }
    }
    const notes = missing.map(
      (field) => `${field} is a secret that is not in the file. Set it before you start the server`,
    )
    return {
      item: { ...item, outcome: 'created', notes },
      apply: async (by) => (await kind.add(rest, by)).id,
      undo: (id, by) => kind.remove(id, by),
    }
  }

  function planSecret(name: string, value: string | undefined, update: boolean): Step<Imported> {
    const before = namedSecrets.current(name)
    const item = { name, id: null, reason: null, notes: [] }
    if (value === undefined) {
      const reason = `Its value is not in the file. Set it with PUT /api/secrets/${name}`
      return { item: { ...item, outcome: before === undefined ? 'refused' : 'exists', reason } }
    }
    if (before === value) return { item: { ...item, outcome: 'unchanged' } }
    if (before !== undefined && !update)
      return { item: { ...item, outcome: 'exists', reason: 'A secret with this name has another value' } }
    return {
      item: { ...item, outcome: before === undefined ? 'created' : 'updated' },
      apply: async (by) => {
        await namedSecrets.set(name, value, by)
        return name
      },
      undo: (_, by) =>
        before === undefined ? namedSecrets.remove(name, by) : namedSecrets.set(name, before, by),
    }
  }

  return async (input: ImportInput, by: Caller): Promise<ImportReport> => {
    const { file, passphrase, on_conflict, dry_run = false } = input
    const update = on_conflict === 'update'
    checkChoices(file)
    const secrets = await secretsIn(file, passphrase)
    const candidates = candidatesIn(file, secrets.servers)
    const known = await deps.servers()
    const steps = {
      secrets: file.named_secrets.map((name) => planSecret(name, secrets.named[name], update)),
      servers: candidates.map((candidate) => planServer(candidate, known, update)),
    }
    const undos: (() => Promise<unknown>)[] = []
    try {
      const done = <I extends Imported>(planned: readonly Step<I>[]) =>
        dry_run ? planned.map(({ item }) => item) : applyAll(planned, undos, by)
      const named = await done(steps.secrets)
      const items = await done(steps.servers)
      const ids = new Map(candidates.map(({ id, name }, at) => [id, idAfter(items[at], name, dry_run)]))
      const options = { idOf: (id: string) => ids.get(id), update, dryRun: dry_run }
      const agents: Imported[] = []
      for (const { agent_type, linked_servers, tools } of file.agents) {
        const result = tools && (await importChoice(agent_type, tools, deps.agents, options, by))
        const link = `Its files had entries for ${linked_servers.join(', ')}: add them with PUT /api/agents/${agent_type}/servers`
        const notes = linked_servers.length > 0 ? [link] : []
        agents.push({
          name: agent_type,
          id: null,
          ...(result ?? { outcome: 'unchanged', reason: null }),
          notes,
        })
      }
      const presets: Imported[] = []
      for (const { name, choice } of file.presets)
        presets.push({
          name,
          id: null,
          ...(await importChoice(name, choice, deps.presets, options, by)),
          notes: [],
        })
      return { dry_run, items, secrets: named, agents, presets, total: items.length }
    } catch (error) {
      for (const undo of undos) await undo().catch(() => {}) // the first failure is reported
      throw error
    }
  }
}
export type Import = ReturnType<typeof createImport>

async function secretsIn(file: ExportFile, passphrase: string | undefined): Promise<Secrets> {
  if (!file.secrets) return { servers: {}, named: {} }
  if (passphrase === undefined)
    throw invalidField('/passphrase', 'is required, because the file has encrypted secrets')
  return openSecrets(file.secrets, file, passphrase)
}

/** The id of the server after the import, or the one that it would get. */
function idAfter(item: ImportedServer | undefined, name: string, dryRun: boolean): string | undefined {
  if (dryRun && item?.outcome === 'created') return slugOf(name)
  return item?.id ?? undefined
}

/** Where the file has no secret, the stored one counts as equal. */
function isSame(existing: ExportedServer, { type, definition }: Candidate): boolean {
  if (existing.type !== type) return false
  return [existing.definition, separateSecrets(existing.definition).masked].some(
    (known) => hashOf({ ...known }) === hashOf({ ...definition }),
  )
}

function invalid(what: string, path: string, problem: string): AppError {
  return new AppError('invalid_input', `${what} of the file cannot be imported: ${problem}`, {
    errors: [{ path, message: problem }],
    hint: 'Nothing was imported',
  })
}
