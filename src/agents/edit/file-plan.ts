import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { isSame, type Json, stepName } from '../catalogue/json-value.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { visibleText } from '../diff/masked-diff.ts'
import { applyPatch, type Patch, patchOf } from '../diff/text-patch.ts'
import { unifiedDiff } from '../diff/unified-diff.ts'
import type { EntryChange } from '../files/file-backups.ts'
import type { FileRecord, TakenOver } from '../files/ownership-store.ts'
import { type Content, contentOf } from '../files/read-config.ts'
import { applyOperations, formatOf, type Operation } from '../formats/apply-operations.ts'
import { revisionOf } from '../formats/text-edits.ts'
import { type Entry, readEntries } from '../read/read-entries.ts'
import type { ChangeOptions, ChangeReport } from './edit.schema.ts'
import { entryChanges } from './entry-changes.ts'
import type { CurrentConfig, OtherFileOperation, Plan } from './entry-plan.ts'
import type { Kept } from './file-writer.ts'
import { startedEntries } from './isolated-servers.ts'
import { originalAfter, takenOver } from './take-over.ts'

/** The change of the file that a request names. */
export interface FileChange extends ReturnType<typeof applyToContent> {
  readonly plan: Plan & { readonly warnings: string[] }
  readonly diff: string
  /** For the audit row, whose line in the log can be read without the token. */
  readonly publicDiff: string
  readonly takenOver: TakenOver | null
  /** What happens to each entry. */
  readonly changes: readonly EntryChange[]
  /** What the agent starts itself after the change, and did not before. */
  readonly started: readonly Entry[]
}

/** The entries of a file and what we own of them. Throws if the content has another revision than the caller read. */
export function currentConfig(
  target: ConfigTarget,
  content: Content | undefined,
  record: FileRecord | undefined,
  revision: string | undefined,
): CurrentConfig {
  assertRevision(target.config.path, revision, content)
  const { root, entries } = readEntries(target, content?.text ?? '')
  const { entries: owned = {}, taken_over } = record ?? {}
  return { content, root, entries, record, owned, taken: taken_over?.entries ?? [] }
}

/** The bytes of the file after the plan, and what the report and the audit row show of them. */
export function planFile(target: ConfigTarget, current: CurrentConfig, plan: Plan): FileChange {
  const { config } = target
  const { content, entries, record } = current
  const text = content?.text ?? ''
  const isTakeOver = plan.taken.length > 0 || plan.restored.length > 0
  const original = isTakeOver ? originalAfter(target, current, plan.operations) : undefined
  const { exact } = plan
  let edited =
    exact !== undefined
      ? outcomeOf(content, exact ? contentOf(config.path, exact).text : '', null, exact === null)
      : original && plan.restored.length > 0
        ? outcomeOf(content, original.text, original.trace, original.madeFile)
        : applyToContent(config, content, [...plan.gatewayOperations, ...plan.operations], record)
  const back = plan.unparked && withPatch(target, text, edited.text, plan.unparked)
  if (back !== null) edited = { ...edited, ...outcomeOf(content, back, edited.trace, edited.madeFile) }
  const isUnchanged = edited.text === text
  const { root, entries: after } = isUnchanged ? current : readEntries(target, edited.text)
  const moved = [...current.taken, ...plan.taken].map(({ name, value }) => ({
    name,
    definition: readEntry(target.agent, name, value).definition,
  }))
  return {
    ...edited,
    plan: { ...plan, entries: withPatches(plan, edited.text, text), warnings: [...plan.warnings] },
    started: isUnchanged ? [] : startedEntries(entries, after),
    ...diffsOf(config.path, text, edited.text, [...entries, ...after, ...moved], [], [current.root, root]),
    changes: entryChanges(current, { entries: after, owned: plan.entries }, plan),
    trace: after.length === 0 ? null : edited.trace,
    takenOver: plan.taken.length === 0 ? null : takenOver(plan, edited.text, original),
  }
}

/** The text of an entry that comes back, with its comments; null if the file was changed around it. */
function withPatch({ config }: ConfigTarget, text: string, edited: string, patch: Patch): string | null {
  const back = applyPatch(text, patch)
  if (back === undefined) return null
  const format = formatOf(config.format, config.dialect)
  try {
    const intended = format.read(edited)
    return [format.read(back), format.readAgain(back)].every((root) => isSame(root, intended)) ? back : null
  } catch {
    return null // it cannot be parsed
  }
}

/** How the user's own entries come back to where they were. */
function withPatches({ entries, parkedNow }: Plan, text: string, before: string): Plan['entries'] {
  if (parkedNow.length === 0) return entries
  const patch = patchOf(text, before)
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [
      name,
      parkedNow.includes(name) ? { ...entry, patch } : entry,
    ]),
  )
}

/** The difference between two texts, without the secrets of these entries. */
export function diffsOf(
  path: string,
  before: string,
  after: string,
  shown: readonly Pick<CurrentConfig['entries'][number], 'name' | 'definition'>[],
  moreNames: readonly string[] = [],
  roots: readonly (Json | undefined)[] = [],
): Pick<FileChange, 'diff' | 'publicDiff'> {
  const definitions = shown.flatMap(({ definition }) => definition ?? [])
  const names = [...moreNames, ...shown.map(({ name }) => name)]
  const diffFor = unifiedDiff(path, before, after)
  return {
    diff: diffFor(
      visibleText(
        'owner',
        definitions,
        names,
        roots.filter((root) => root !== undefined),
      ),
    ),
    publicDiff: diffFor(visibleText('public', definitions, names)),
  }
}

/** The operations on one of the other files in which an agent lists its disabled servers. */
export interface OtherFile extends Pick<ConfigFile, 'path' | 'format' | 'dialect' | 'keyPath'> {
  readonly operations: readonly Operation[]
}

export function otherFilesOf({ otherFiles }: Plan): OtherFile[] {
  const byPath = new Map<string, [OtherFileOperation, ...OtherFileOperation[]]>()
  for (const operation of otherFiles) {
    const known = byPath.get(operation.file)
    if (known) known.push(operation)
    else byPath.set(operation.file, [operation])
  }
  return [...byPath].map(([path, operations]) => {
    const [{ format, dialect, path: at }] = operations
    const keyPath = at.slice(0, -1).filter((step) => typeof step === 'string')
    return { path, format, dialect, keyPath, operations }
  })
}

export function planOtherFile(
  target: ConfigTarget,
  file: OtherFile,
  content: Content | undefined,
  before: FileRecord | undefined,
) {
  const { path, keyPath, operations } = file
  const names = operations.flatMap(({ path: steps }) => steps.slice(-1).map(stepName))
  const edited = applyToContent(file, content, operations, before)
  const { next, text, revision, trace, madeFile: made_file } = edited
  const isEmpty = next === null || text.trim() === ''
  return {
    names,
    next,
    revision,
    record: {
      ...recordKey(target, path, keyPath),
      trace: isEmpty ? null : trace,
      made_file,
      entries: {},
    },
    diff: diffsOf(path, content?.text ?? '', text, [], names).publicDiff,
  }
}

/** Applies the operations to the text and derives what happens to the file. */
function applyToContent(
  { path, format, dialect }: Pick<ConfigFile, 'path' | 'format' | 'dialect'>,
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
  revision: string | null | undefined,
  content: Pick<Content, 'revision'> | undefined,
): void {
  if (revision === undefined || revision === (content?.revision ?? null)) return
  throw new AppError('config_changed', `${path} has changed since you read it; nothing was changed`, {
    hint: 'Read the agent again and repeat the change with the new revision',
  })
}

export const recordKey = (
  { agent, config, project }: ConfigTarget,
  path: string,
  key_path: readonly string[],
) => ({
  agent_type: agent.type,
  scope: config.scope,
  project_path: project ?? null,
  path,
  key_path,
})

/** The names of the entries that a change concerns. An undo only adds, updates and removes. */
type ChangedEntries = Pick<Plan, 'added' | 'updated' | 'removed'> &
  Partial<Pick<Plan, 'takenNow' | 'restored' | 'doubled' | 'warnings' | 'accepted' | 'gateway'>>

/** What a report and an audit row show of the file that a request names. */
interface Reported extends Pick<FileChange, 'diff' | 'publicDiff' | 'revision'> {
  readonly plan: ChangedEntries
  /** The file before. */
  readonly content: Content | undefined
}

/** The response to a change. `otherDiff` is the diff of other files that were changed with it. */
export function reportOf(
  { agent, config, project }: ConfigTarget,
  { dry_run = false }: ChangeOptions,
  { plan, diff, revision, content }: Reported,
  otherDiff: string,
  kept: ReadonlyMap<string, Kept>,
): ChangeReport {
  const { added, updated, removed, takenNow = [], restored = [], doubled = [], warnings = [] } = plan
  const { accepted = [] } = plan
  const lost = [...kept].flatMap(([path, { foreign }]) => {
    if (foreign === null) return []
    const what = path === config.path ? 'the file' : path
    const where = foreign ? `is kept as backup ${foreign.id}` : 'could not be kept'
    return [`Another program wrote to ${what} at the same moment; its content ${where}`]
  })
  return {
    agent_type: agent.type,
    scope: config.scope,
    project_path: project ?? null,
    path: config.path,
    dry_run,
    changed: diff !== '' || otherDiff !== '',
    added: [...added],
    updated: [...updated],
    removed: [...removed],
    accepted: [...accepted],
    parked: [...takenNow],
    restored: [...restored],
    doubled: doubled.map((each) => ({ ...each, tools: [...each.tools] })),
    gateway: plan.gateway ?? null,
    diff: diff + otherDiff,
    backup_id: kept.get(config.path)?.backup.id ?? null,
    revision,
    base_revision: content?.revision ?? null,
    reload_hint: agent.reload,
    warnings: [...warnings, ...lost],
  }
}

export function auditOf(
  action: AuditEntry['action'],
  { agent, config }: ConfigTarget,
  { plan, publicDiff }: Pick<Reported, 'plan' | 'publicDiff'>,
  otherDiff: string,
  { request_id }: Caller,
): AuditEntry {
  const { scope, path } = config
  const { added, updated, removed, takenNow: parked = [], restored = [], accepted = [] } = plan
  const moved = {
    ...(parked.length > 0 && { parked }),
    ...(restored.length > 0 && { restored }),
    ...(accepted.length > 0 && { accepted }),
  }
  const detail = { scope, path, added, updated, removed, ...moved, diff: publicDiff + otherDiff }
  return { action, subject: agent.type, request_id, detail }
}
