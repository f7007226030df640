import { AppError, invalidField } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/wire.ts'
import { hashOf } from '../upstreams/definition-hash.ts'
import { type ChoiceDeps, importChoice } from './agent-choices.ts'
import { type Definition, separateSecrets, withoutMasked } from './definition.ts'
import type { ExportedServer } from './export.service.ts'
import { openSecrets } from './seal.ts'
import type { ImportedAgent, ImportedServer, ImportInput, ImportReport } from './transfer.schema.ts'

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
  readonly agents: ChoiceDeps
}

interface Candidate {
  readonly index: number
  readonly id: string
  readonly type: ExportedServer['type']
  readonly name: string
  readonly definition: Definition
}

/** What will be done with an entry, and how to undo it. */
interface Step {
  readonly item: ImportedServer
  readonly apply: (by: Caller) => Promise<string>
  readonly undo: (id: string, by: Caller) => Promise<unknown>
}

/** Registers the servers of an exported file. The whole file is checked first; nothing is started. */
export function createImport({ servers, kinds, agents: choices }: ImportDeps) {
  async function candidatesIn({ file, passphrase }: ImportInput): Promise<Candidate[]> {
    if (file.secrets && passphrase === undefined)
      throw invalidField('/passphrase', 'is required, because the file has encrypted secrets')
    const secrets = file.secrets && passphrase ? await openSecrets(file.secrets, file, passphrase) : {}
    for (const [index, { tools }] of file.agents.entries()) {
      const problem = tools === null ? undefined : choices.problem(tools)
      if (problem !== undefined) throw invalid(`Agent ${index + 1}`, `/file/agents/${index}/tools`, problem)
    }
    const names = new Set<string>()
    return file.servers.map(({ id, type, definition: shown }, index) => {
      const definition = { ...shown, ...(Object.hasOwn(secrets, id) ? secrets[id] : {}) }
      const problem = kinds[type].problem(withoutMasked(definition).rest)
      if (problem !== undefined) throw invalidEntry(index, problem)
      const name = String(definition.name)
      if (names.has(slugOf(name))) throw invalidEntry(index, 'name is used by an earlier entry')
      names.add(slugOf(name))
      return { index, id, type, name, definition }
    })
  }

  function plan(candidate: Candidate, known: readonly ExportedServer[], update: boolean): Step {
    const { type, name, definition } = candidate
    const kind = kinds[type]
    const existing = known.find(
      ({ id, definition: { name: taken } }) => taken === name || id === slugOf(name),
    )
    const item = { name, type, id: existing?.id ?? null, reason: null, notes: [] }
    const nothing = async () => existing?.id ?? ''
    if (existing && isSame(existing, candidate))
      return { item: { ...item, outcome: 'unchanged', reason: SAME }, apply: nothing, undo: nothing }
    if (existing && (existing.type !== type || !update))
      return { item: { ...item, outcome: 'exists', reason: TAKEN }, apply: nothing, undo: nothing }
    if (existing) {
      const { id } = existing
      return {
        item: { ...item, outcome: 'updated' },
        apply: async (by) => {
          await kind.change(id, definition, by)
          return id
        },
        undo: (_, by) => kind.change(id, existing.definition, by),
      }
    }
    const { rest, missing, broken } = withoutMasked(definition)
    if (broken.length > 0) {
      const reason = `${broken.join(' and ')} ${broken.length === 1 ? 'contains' : 'contain'} a secret that is not in the file. Export it with include_secrets`
      return { item: { ...item, outcome: 'refused', reason }, apply: nothing, undo: nothing }
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

  /** An entry that cannot be registered does not prevent the others. A failure of the store undoes all of them. */
  async function applyAll(steps: readonly Step[], by: Caller): Promise<ImportedServer[]> {
    const items: ImportedServer[] = []
    const undos: (() => Promise<unknown>)[] = []
    for (const { item, apply, undo } of steps) {
      try {
        const id = await apply(by)
        if (item.outcome === 'created' || item.outcome === 'updated') undos.unshift(() => undo(id, by))
        items.push({ ...item, id: id === '' ? item.id : id })
      } catch (error) {
        if (error instanceof AppError && error.status < 500) {
          items.push({ ...item, outcome: 'refused', id: null, reason: error.message, notes: [] })
          continue
        }
        for (const undone of undos) await undone().catch(() => {}) // the first failure is reported
        throw error
      }
    }
    return items
  }

  return async (input: ImportInput, by: Caller): Promise<ImportReport> => {
    const { on_conflict, dry_run = false, file } = input
    const update = on_conflict === 'update'
    const candidates = await candidatesIn(input)
    const known = await servers()
    const steps = candidates.map((candidate) => plan(candidate, known, update))
    const items = dry_run ? steps.map(({ item }) => item) : await applyAll(steps, by)
    const ids = new Map(candidates.map(({ id, name }, at) => [id, idAfter(items[at], name, dry_run)]))
    const idOf = (id: string) => ids.get(id)
    const agents: ImportedAgent[] = []
    for (const choice of file.agents) {
      const { agent_type, linked_servers } = choice
      const result = await importChoice(choice, choices, { idOf, update, dryRun: dry_run }, by)
      const link = `Its files had entries for ${linked_servers.join(', ')}: add them with PUT /api/agents/${agent_type}/servers`
      agents.push({ agent_type, ...result, notes: linked_servers.length > 0 ? [link] : [] })
    }
    return { dry_run, items, agents, total: items.length }
  }
}
export type Import = ReturnType<typeof createImport>

const SAME = 'The server already has this definition'
const TAKEN = 'A server with this name is already registered with a different definition'

/** Where the file has no secret, the stored one counts as equal. */
function isSame(existing: ExportedServer, { type, definition }: Candidate): boolean {
  if (existing.type !== type) return false
  return [existing.definition, separateSecrets(existing.definition).masked].some(
    (known) => hashOf({ ...known }) === hashOf({ ...definition }),
  )
}

/** The id of the server after the import, or the one that it would get. */
function idAfter(item: ImportedServer | undefined, name: string, dryRun: boolean): string | undefined {
  if (dryRun && item?.outcome === 'created') return slugOf(name)
  return item?.id ?? undefined
}

const invalidEntry = (index: number, problem: string): AppError =>
  invalid(`Server ${index + 1}`, `/file/servers/${index}/definition`, problem)

function invalid(what: string, path: string, problem: string): AppError {
  return new AppError('invalid_input', `${what} of the file cannot be imported: ${problem}`, {
    errors: [{ path, message: problem }],
    hint: 'Nothing was imported',
  })
}
