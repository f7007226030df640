import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import { unifiedDiff } from '../diff/unified.ts'
import { visibleText } from '../diff/visible-text.ts'
import type { Backup, Backups } from '../files/backups.ts'
import { type ConfigTarget, lockedFile } from '../files/config-target.ts'
import { type Content, revisionOf } from '../files/config-text.ts'
import { applyOperations, formatOf, type Operation } from '../formats/config-format.ts'
import { readEntries } from '../read/read-entries.ts'
import type { CurrentConfig, Plan } from './change-plan.ts'
import type { ChangeOptions } from './edit.schema.ts'
import { FileEdit, type Kept, type NewContent } from './file-edit.ts'
import { type FileRecord, type OwnershipStore, recordOf } from './ownership.ts'

export interface FileDeps {
  readonly backups: Backups
  readonly ownership: OwnershipStore
  readonly now: () => number
  /** The folder where we record which agents' locks we hold. */
  readonly lockLedger: string
}

export interface ChangeRequest {
  readonly target: ConfigTarget
  readonly options: ChangeOptions
  readonly by: Caller
  readonly action: 'set' | 'remove'
  /** The same for all files that this request changes. */
  readonly changeId: string
  readonly plan: (current: CurrentConfig) => Plan
}

export interface ComputedChange extends NewContent {
  readonly plan: Plan
  readonly diff: string
  readonly trace: string | null
  readonly madeFile: boolean
}
export type FileChange = ComputedChange & Kept

/** The change of the file that the request names. */
export function mainFileEdit(deps: FileDeps, request: ChangeRequest): FileEdit<ComputedChange> {
  const { place } = request.target
  return new FileEdit(deps, {
    file: lockedFile(deps.lockLedger, request.target),
    record: () => recordOf(deps.ownership, place.path, place.keyPath),
    compute: (content, record) => computeChange(request, content, record),
    backupFacts: ({ plan }) =>
      backupFacts(request, place.path, [...plan.added, ...plan.updated, ...plan.removed]),
  })
}

export const backupFacts = (
  { target, by, action, changeId }: ChangeRequest,
  path: string,
  names: readonly string[],
): Omit<Backup, 'id' | 'ts' | 'before' | 'after'> => ({
  agent_type: target.agent.type,
  scope: target.place.scope,
  path,
  main: target.place.path,
  change: changeId,
  action,
  names,
  request_id: by.request_id,
})

function computeChange(
  { target, options, plan: planFor }: ChangeRequest,
  content: Content | undefined,
  record: FileRecord | undefined,
): ComputedChange {
  const { place } = target
  assertRevision(place.path, options.revision, content)
  const text = content?.text ?? ''
  const { root, entries } = readEntries(target, text)
  const plan = planFor({ root, entries, owned: record?.entries ?? {} })
  const edited = applyToContent(place, content, plan.operations, record)
  const after = edited.text === text ? entries : readEntries(target, edited.text).entries
  const definitions = [...entries, ...after].flatMap(({ definition }) => definition ?? [])
  const names = [...entries, ...after].map(({ name }) => name)
  const diff = unifiedDiff(place.path, text, edited.text, visibleText(definitions, names))
  return { ...edited, plan, diff, trace: after.length === 0 ? null : edited.trace }
}

/** Applies the operations to the text and derives what happens to the file. */
export function applyToContent(
  { path, format, dialect }: Pick<ConfigTarget['place'], 'path' | 'format' | 'dialect'>,
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
  const isRemoved = text === '' && madeFile
  const bytes = isRemoved ? null : Buffer.from(text)
  const isSame = text === before && !(isRemoved && content)
  return {
    text,
    trace: trace ?? null,
    madeFile: madeFile && !isRemoved,
    next: isSame ? undefined : bytes,
    revision: isSame ? (content?.revision ?? null) : bytes && revisionOf(bytes),
  }
}

/** A caller that read no file has no revision to send, so a missing revision is accepted. */
export function assertRevision(
  path: string,
  revision: string | undefined,
  content: Content | undefined,
): void {
  if (revision === undefined || revision === content?.revision) return
  throw new AppError('config_changed', `${path} has changed since you read it; nothing was changed`, {
    hint: 'Read the agent again and repeat the change with the new revision',
  })
}

export const recordKey = (
  { agent, place, project }: ConfigTarget,
  path: string,
  key_path: readonly string[],
) => ({
  agent_type: agent.type,
  scope: place.scope,
  project_path: project ?? null,
  path,
  key_path,
})
