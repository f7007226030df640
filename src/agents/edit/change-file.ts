import { AppError } from '../../kernel/errors.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { unifiedDiff, visibleText } from '../diff/unified-diff.ts'

import type { ConfigTarget } from '../files/config-target.ts'
import type { FileRecord, TakenOver } from '../files/ownership.ts'
import { applyOperations, formatOf, type Operation } from '../formats/config-format.ts'
import { type Content, contentOf, revisionOf } from '../formats/config-text.ts'
import { readEntries } from '../read/read-entries.ts'
import type { CurrentConfig, Plan } from './change-plan.ts'
import { originalAfter, takenOver } from './take-over.ts'

/** The change of the file that a request names. */
export interface FileChange extends ReturnType<typeof applyToContent> {
  readonly plan: Plan
  readonly diff: string
  /** For the audit row, whose line in the log can be read without the token. */
  readonly publicDiff: string
  readonly takenOver: TakenOver | null
}

/** `exact` returns the bytes that the file gets instead of an edit; null removes it. */
export function computeChange(
  target: ConfigTarget,
  revision: string | undefined,
  planFor: (current: CurrentConfig) => Plan,
  content: Content | undefined,
  record: FileRecord | undefined,
  exact: (content: Content | undefined) => Buffer | null | undefined = () => undefined,
): FileChange {
  const { place } = target
  assertRevision(place.path, revision, content)
  const text = content?.text ?? ''
  const { root, entries } = readEntries(target, text)
  const before = record?.taken_over?.entries ?? []
  const current = { root, entries, owned: record?.entries ?? {}, taken: before }
  const plan = planFor(current)
  const isTakeOver = plan.taken.length > 0 || plan.restored.length > 0
  const original = isTakeOver ? originalAfter(target, current, text, plan.operations, record) : undefined
  const bytes = exact(content)
  const edited =
    bytes !== undefined
      ? outcomeOf(content, bytes ? contentOf(place.path, bytes).text : '', null, bytes === null)
      : original && plan.restored.length > 0
        ? outcomeOf(content, original.text, original.trace, original.madeFile)
        : applyToContent(place, content, [...plan.gatewayOperations, ...plan.operations], record)
  const after = edited.text === text ? entries : readEntries(target, edited.text).entries
  const moved = [...before, ...plan.taken].map(({ name, value }) => ({
    name,
    definition: readEntry(target.agent, name, value).definition,
  }))
  const shown = [...entries, ...after, ...moved]
  const definitions = shown.flatMap(({ definition }) => definition ?? [])
  const names = shown.map(({ name }) => name)
  const diffFor = unifiedDiff(place.path, text, edited.text)
  return {
    ...edited,
    plan,
    diff: diffFor(visibleText('owner', definitions, names)),
    publicDiff: diffFor(visibleText('public', definitions, names)),
    trace: after.length === 0 ? null : edited.trace,
    takenOver: takenOver(plan, edited.text, original),
  }
}

/** Applies the operations to the text and derives what happens to the file. */
export function applyToContent(
  { path, format, dialect }: Pick<ConfigTarget['place'], 'path' | 'format' | 'dialect'>,
  content: Content | undefined,
  operations: readonly Operation[],
  record: FileRecord | undefined,
) {
  const { text, trace } = applyOperations(
    formatOf(format, dialect),
    path,
    content?.text ?? '',
    operations,
    record?.trace ?? undefined,
  )
  return outcomeOf(content, text, trace ?? null, content === undefined || (record?.made_file ?? false))
}

function outcomeOf(content: Content | undefined, text: string, trace: string | null, madeFile: boolean) {
  const before = content?.text ?? ''
  const isRemoved = text === '' && madeFile
  const bytes = isRemoved ? null : Buffer.from(text)
  const isSame = text === before && !(isRemoved && content)
  return {
    text,
    trace,
    madeFile: madeFile && !isRemoved,
    /** Null removes the file; undefined leaves it unchanged. */
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
