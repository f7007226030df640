import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import { shownOf } from '../diff/shown.ts'
import { unifiedDiff } from '../diff/unified.ts'
import type { LockFacts } from '../files/agent-lock.ts'
import type { Backup, Backups } from '../files/backups.ts'
import { type ConfigFile, changeConfig, readConfig } from '../files/config-file.ts'
import { type Content, revisionOf } from '../files/config-text.ts'
import type { Path } from '../formats/format.ts'
import { entriesIn, rootOf, type Where } from '../read/read-entries.ts'
import { applyOperations, formatOf, type Operation, readText } from './apply-operations.ts'
import type { Elsewhere, Now, Plan } from './change-plan.ts'
import type { How } from './edit.schema.ts'
import { type FileRecord, type OwnershipStore, recordOf } from './ownership.ts'

export interface FileDeps {
  readonly backups: Backups
  readonly ownership: OwnershipStore
  readonly now: () => number
  /** A folder of ours that says which locks of agents we hold. */
  readonly lockLedger: string
}

/** One file changed, or what would be. */
export interface FileChange {
  readonly plan: Plan
  readonly diff: string
  readonly revision: string | null
  readonly trace: string | null
  readonly madeFile: boolean
  readonly backup: Backup | null
  readonly foreign: Backup | null
}

export interface Request {
  readonly where: Where
  readonly how: How
  readonly by: Caller
  readonly action: 'set' | 'remove'
  /** Of this request, for everything that it changes. */
  readonly change: string
  readonly plan: (now: Now) => Plan
}

/** Computes on what the file says now, as often as it changes under our hands, and writes once. */
export async function changeFile(deps: FileDeps, request: Request): Promise<FileChange> {
  const { where, how } = request
  const file = lockedFile(deps, where)
  const compute = (content: Content | undefined) => computeChange(deps, request, content)
  if (how.dry_run) return { ...compute(readConfig(file)), backup: null, foreign: null }
  const names = ({ plan }: Computed) => [...plan.added, ...plan.updated, ...plan.removed]
  return writeKept(deps, file, (content) => {
    const computed = compute(content)
    return { computed, facts: { ...factsOf(request, where.place.path), names: names(computed) } }
  })
}

/** What every file that a request changes says of itself in its backup. */
const factsOf = ({ where, by, action, change }: Omit<Request, 'plan'>, path: string) => ({
  agent_type: where.agent.type,
  scope: where.place.scope,
  path,
  main: where.place.path,
  change,
  action,
  ...by,
})

interface Computed {
  readonly plan: Plan
  readonly diff: string
  readonly revision: string | null
  readonly trace: string | null
  readonly madeFile: boolean
  readonly next: Buffer | null | undefined
}

interface Writable {
  /** Null takes the file away; undefined leaves it as it is. */
  readonly next: Buffer | null | undefined
  readonly revision: string | null
}

/** Writes what was computed, with what stood there before in safety. */
export async function writeKept<T extends Writable>(
  { backups, now }: Pick<FileDeps, 'backups' | 'now'>,
  file: ConfigFile,
  compute: (content: Content | undefined) => {
    computed: T
    facts: Omit<Backup, 'id' | 'ts' | 'before' | 'after'>
  },
): Promise<T & { backup: Backup | null; foreign: Backup | null }> {
  const kept: { backup: Backup | null; foreign: Backup | null } = { backup: null, foreign: null }
  const done = await changeConfig(file, (content) => {
    const { computed, facts } = compute(content)
    const all = { ...facts, ts: now(), after: computed.revision }
    return {
      next: computed.next,
      result: computed,
      secure: () => {
        const backup = backups.keep(all, content?.bytes ?? null)
        kept.backup = backup
        return () => {
          backups.discard(backup)
          kept.backup = null
        }
      },
      onForeign: (bytes) => {
        kept.foreign = backups.keep({ ...all, action: 'foreign_edit' }, bytes)
      },
    }
  })
  return { ...done, ...kept }
}

function computeChange(
  deps: FileDeps,
  { where, how, plan: planFor }: Request,
  content: Content | undefined,
): Computed {
  const { place } = where
  assertSeen(place.path, how.revision, content)
  const record = recordOf(deps.ownership, place.path, place.keyPath)
  const format = formatOf(place.format, place.dialect)
  const text = content?.text ?? ''
  const entries = entriesIn(where, text)
  const now = { root: readText(format, place.path, text), entries, owned: record?.entries ?? {} }
  const plan = planFor(now)
  const edited = edit(place, content, plan.operations, record)
  const after = edited.text === text ? entries : entriesIn(where, edited.text)
  const definitions = [...entries, ...after].flatMap(({ definition }) => definition ?? [])
  const names = [...entries, ...after].map(({ name }) => name)
  const diff = unifiedDiff(place.path, text, edited.text, shownOf(definitions, names))
  return { plan, diff, ...edited, trace: after.length === 0 ? null : edited.trace }
}

/** The text with the operations applied, and what that means for the file. */
function edit(
  { path, format, dialect }: Pick<Where['place'], 'path' | 'format' | 'dialect'>,
  content: Content | undefined,
  operations: readonly Operation[],
  record: FileRecord | undefined,
) {
  const before = content?.text ?? ''
  const { text, trace } = applyOperations(
    formatOf(format, dialect),
    path,
    before,
    operations,
    record?.trace ?? undefined,
  )
  const madeFile = content === undefined || (record?.made_file ?? false)
  const isGone = text === '' && madeFile
  const bytes = isGone ? null : Buffer.from(text)
  const isSame = text === before && !(isGone && content)
  return {
    text,
    trace: trace ?? null,
    madeFile: madeFile && !isGone,
    next: isSame ? undefined : bytes,
    revision: isSame ? (content?.revision ?? null) : bytes && revisionOf(bytes),
  }
}

/** `null` as a revision cannot be sent, so who saw no file sends none and is recomputed. */
export function assertSeen(path: string, revision: string | undefined, content: Content | undefined): void {
  if (revision === undefined || revision === content?.revision) return
  throw new AppError('config_changed', `${path} is not any more what you have seen; nothing was changed`, {
    hint: 'Read the agent again and repeat the change on what you see',
  })
}

export const fileOf = (where: Where): Pick<ConfigFile, 'path' | 'root'> => ({
  path: where.place.path,
  root: rootOf(where),
})

/** The file as it is to be written: under the agent's own lock. */
export function lockedFile({ lockLedger }: Pick<FileDeps, 'lockLedger'>, where: Where): ConfigFile {
  return { ...fileOf(where), lock: lockOf(where, lockLedger) }
}

function lockOf({ agent, place }: Where, ledger: string): LockFacts | null {
  const { lock } = agent
  if (!lock?.scopes.includes(place.scope)) return null
  const path = lock.path.replace('<config>', place.path).replace('<folder>', folderOf(place.path))
  return { path, kind: lock.kind, ledger }
}

const folderOf = (path: string): string => path.replace(/[\\/][^\\/]*$/, '')

/** The agent's list of what is off, in a file of its own. Says what changed. */
export async function changeElsewhere(
  deps: FileDeps,
  request: Omit<Request, 'plan'>,
  changes: readonly Elsewhere[],
): Promise<string> {
  const { where, how } = request
  let diffs = ''
  for (const path of new Set(changes.map(({ file }) => file))) {
    const ours = changes.filter(({ file }) => file === path)
    const [first] = ours
    if (!first) continue
    const { format, dialect } = first
    const keyPath = first.path.slice(0, -1).filter((step) => typeof step === 'string')
    const names = ours.flatMap(({ path: way }) => nameOf(way.at(-1)))
    const compute = (content: Content | undefined) => {
      const record = recordOf(deps.ownership, path, keyPath)
      const edited = edit({ path, format, dialect }, content, ours, record)
      const diff = unifiedDiff(path, content?.text ?? '', edited.text, shownOf([], names))
      return { ...edited, diff }
    }
    const file = { path, root: rootOf(where), lock: null }
    if (how.dry_run) {
      diffs += compute(readConfig(file)).diff
      continue
    }
    const facts = { ...factsOf(request, path), names }
    const done = await writeKept(deps, file, (content) => ({ computed: compute(content), facts }))
    diffs += done.diff
    const isEmpty = done.next === null || done.text.trim() === ''
    await deps.ownership.save(
      {
        ...recordOfFile(where, path, keyPath),
        trace: isEmpty ? null : done.trace,
        made_file: done.madeFile,
        entries: {},
      },
      null,
    )
  }
  return diffs
}

function nameOf(step: Path[number] | undefined): string[] {
  if (step === undefined) return []
  if (typeof step === 'string') return [step]
  return 'item' in step ? [step.item] : [step.is]
}

const recordOfFile = ({ agent, place, project }: Where, path: string, key_path: readonly string[]) => ({
  agent_type: agent.type,
  scope: place.scope,
  project_path: project ?? null,
  path,
  key_path,
})

/** What is to be remembered of the file from now on. */
export const recordAfter = (where: Where, { plan, trace, madeFile }: FileChange): FileRecord => ({
  ...recordOfFile(where, where.place.path, where.place.keyPath),
  trace,
  made_file: madeFile,
  entries: plan.entries,
})
