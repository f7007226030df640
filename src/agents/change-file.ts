import { AppError } from '../kernel/errors.ts'
import type { Caller } from '../kernel/wire.ts'
import { shownOf } from './diff/shown.ts'
import { unifiedDiff } from './diff/unified.ts'
import type { How } from './editing.schema.ts'
import { applyOperations, formatOf, readText } from './edits.ts'
import type { LockFacts } from './files/agent-lock.ts'
import type { Backup, Backups } from './files/backups.ts'
import { type ConfigFile, changeConfig, readConfig } from './files/config-file.ts'
import { type Content, revisionOf } from './files/config-text.ts'
import { type FileRecord, type OwnershipStore, recordOf } from './ownership.ts'
import type { Elsewhere, Now, Plan } from './plan.ts'
import { entriesIn, rootOf, type Where } from './reading.ts'

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
  readonly backup: Backup | null
  readonly revision: string | null
  readonly trace: string | null
  readonly foreign: Backup | null
}

export interface Request {
  readonly where: Where
  readonly how: How
  readonly by: Caller
  readonly action: 'set' | 'remove'
  readonly plan: (now: Now) => Plan
}

/** Computes on what the file says now, as often as it changes under our hands, and writes once. */
export async function changeFile(deps: FileDeps, request: Request): Promise<FileChange> {
  const { where, how } = request
  const compute = (content: Content | undefined) => computeChange(deps, request, content)
  const file = lockedFile(deps, where)
  if (how.dry_run) {
    const { next: _, before: __, ...change } = compute(readConfig(file))
    return change
  }
  let backup: Backup | null = null
  let foreign: Backup | null = null
  const change = await changeConfig(file, (content) => {
    const computed = compute(content)
    return {
      next: computed.next,
      result: computed,
      secure: () => {
        const kept = deps.backups.keep(facts(deps, request, computed), content?.bytes ?? null)
        backup = kept
        return () => {
          deps.backups.discard(kept)
          backup = null
        }
      },
      onForeign: (bytes) => {
        foreign = deps.backups.keep({ ...facts(deps, request, computed), action: 'foreign_edit' }, bytes)
      },
    }
  })
  return { ...change, backup, foreign }
}

function facts({ now }: FileDeps, { where, by, action }: Request, { plan, revision }: FileChange) {
  const { agent, place } = where
  const names = [...plan.added, ...plan.updated, ...plan.removed]
  return {
    ts: now(),
    agent_type: agent.type,
    scope: place.scope,
    path: place.path,
    action,
    names,
    after: revision,
    ...by,
  }
}

interface Computed extends FileChange {
  readonly next: Buffer | undefined
  readonly before: Content | undefined
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
  const edited = applyOperations(format, place.path, text, plan.operations, record?.trace ?? undefined)
  const isSame = edited.text === text
  const next = Buffer.from(edited.text)
  const after = isSame ? entries : entriesIn(where, edited.text)
  const definitions = [...entries, ...after].flatMap(({ definition }) => definition ?? [])
  const names = [...entries, ...after].map(({ name }) => name)
  return {
    plan,
    diff: unifiedDiff(place.path, text, edited.text, shownOf(definitions, names)),
    backup: null,
    foreign: null,
    revision: isSame ? (content?.revision ?? null) : revisionOf(next),
    trace: after.length === 0 ? null : (edited.trace ?? null),
    next: isSame ? undefined : next,
    before: content,
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
  const isPopulated = lock.kind === 'directory' && agent.type === 'cline'
  return { path, kind: isPopulated ? 'populated-directory' : lock.kind, ledger }
}

const folderOf = (path: string): string => path.replace(/[\\/][^\\/]*$/, '')

/** The agent's list of what is off, in a file of its own. */
export async function changeElsewhere(
  deps: FileDeps,
  { where, how, by, action }: Omit<Request, 'plan'>,
  changes: readonly Elsewhere[],
): Promise<string> {
  const diffs: string[] = []
  for (const path of new Set(changes.map(({ file }) => file))) {
    const ours = changes.filter(({ file }) => file === path)
    const [first] = ours
    if (!first) continue
    const names = ours.flatMap(({ path: way }) =>
      way.flatMap((step) => (typeof step === 'object' && 'item' in step ? step.item : [])),
    )
    const compute = (content: Content | undefined) => {
      const text = content?.text ?? ''
      const edited = applyOperations(formatOf(first.format, first.dialect), path, text, ours, undefined)
      return { text, edited: edited.text, next: edited.text === text ? undefined : Buffer.from(edited.text) }
    }
    const file = { path, root: rootOf(where), lock: null }
    const done = how.dry_run
      ? compute(readConfig(file))
      : await changeConfig(file, (content) => {
          const computed = compute(content)
          const kept = {
            ts: deps.now(),
            agent_type: where.agent.type,
            scope: where.place.scope,
            path,
            action,
            names,
            after: revisionOf(computed.next ?? Buffer.alloc(0)),
            ...by,
          }
          return {
            next: computed.next,
            result: computed,
            secure: () => {
              const backup = deps.backups.keep(kept, content?.bytes ?? null)
              return () => deps.backups.discard(backup)
            },
            onForeign: (bytes) => void deps.backups.keep({ ...kept, action: 'foreign_edit' }, bytes),
          }
        })
    diffs.push(unifiedDiff(path, done.text, done.edited, shownOf([], names)))
  }
  return diffs.join('')
}

/** What is to be remembered of the file from now on. */
export const recordAfter = ({ agent, place, project }: Where, { plan, trace }: FileChange): FileRecord => ({
  agent_type: agent.type,
  scope: place.scope,
  project_path: project ?? null,
  path: place.path,
  key_path: place.keyPath,
  trace,
  entries: plan.entries,
})
