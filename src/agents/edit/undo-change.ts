import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { leadsToGateway } from '../catalogue/gateway-entry.ts'
import { hashOf, type Json, valueAt } from '../catalogue/json-value.ts'
import {
  agentOf,
  assertMayChange,
  configTarget,
  configTargets,
  fileOf,
  recordOf,
  rootOf,
} from '../files/config-target.ts'
import type { Backup, Backups } from '../files/file-backups.ts'
import type { Choice, Chosen, FileRecord, OwnedEntry, TakenOver } from '../files/ownership-store.ts'
import { type Content, contentOf, readConfig, revisionNow } from '../files/read-config.ts'
import type { HistoryItem } from '../read/agents.schema.ts'
import { type Entry, readEntries } from '../read/read-entries.ts'
import type { ChangeReport, UndoInput } from './edit.schema.ts'
import { type EditDeps, publishChange } from './edit.service.ts'
import { entryChanges } from './entry-changes.ts'
import { assertRevision, auditOf, diffsOf, recordKey, reportOf } from './file-plan.ts'
import type { OpenFiles } from './file-writer.ts'
import { isSameChoice, leadsThere } from './gateway-choice.ts'
import { hasInvalidKey, keysAfter } from './gateway-keys.ts'
import { checkIsolated, startedEntries } from './isolated-servers.ts'

interface Deps extends EditDeps {
  readonly backups: Backups
}

/** Restores the exact bytes from before a change, in every file that the change touched. */
export class Undo {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async undo(key: string, input: UndoInput, by: Caller): Promise<ChangeReport> {
    const { backups, platform, writer, gateway, facts, offers } = this.#deps
    const target = configTarget(agentOf(key), platform, input)
    const { agent, config } = target
    assertMayChange(target, true)
    const own = backups.of(agent.type).filter(({ main }) => main === config.path)
    const paths = own.map(({ path }) => path)
    const dryRun = input.dry_run ?? false
    const files = await writer.open({ target, paths, by, action: 'undo', dryRun })
    try {
      for (;;) {
        const { main, otherDiff, ...planned } = await this.#plan(files, target, input, by)
        const { chosen } = planned
        // The agent sees no other servers, not even for a moment: also not those that its entry leads to again.
        const isFirst = planned.records.some(leadsThere)
        const choose = async (choice: Choice, frees: boolean) =>
          chosen && !dryRun && offers.choose(agent.type, choice, by, frees)
        const takeBack = async () => isFirst && choose(chosen?.before ?? null, true)
        if (isFirst) await choose(chosen?.after ?? null, false)
        const kept = await files.write(planned).catch(async (error) => {
          await takeBack()
          throw error
        })
        if (!kept) {
          await takeBack() // the next try begins with the choice that the user made
          continue
        }
        if (!isFirst) await choose(chosen?.after ?? null, true)
        if (!dryRun) publishChange(facts, target)
        const report = reportOf(target, input, main, otherDiff, kept)
        if (!hasInvalidKey(gateway, main.text)) return report
        return { ...report, warnings: [...report.warnings, INVALID_KEY] }
      }
    } finally {
      files.close()
    }
  }

  /** All or nothing: a file that was changed since then must not leave the others half undone. */
  async #plan(files: OpenFiles, target: ConfigTarget, input: UndoInput, by: Caller) {
    const { backups, ownership } = this.#deps
    const { agent, config } = target
    const all = backups.of(agent.type).filter(({ main }) => main === config.path)
    const toRestore = backupsToRestore(all, input.backup_id, config.path)
    const steps = []
    for (const backup of toRestore.sort(mainLast(config.path))) {
      const { path, names } = backup
      const plan = (content: Content | undefined) => this.#restored(target, input, backup, content)
      steps.push({ ...(await files.read({ ...config, path }, undefined, plan)), names })
    }
    const main = steps.find(({ file }) => file.path === config.path) ?? unchanged(target)
    await checkIsolated(this.#deps, target, 'undo', main)
    const otherDiff = steps.map(({ file, diff }) => (file.path === config.path ? '' : diff)).join('')
    const before = recordOf(ownership, config)
    const backup = toRestore.find(({ path }) => path === config.path)
    const taken = backup?.taken_over === undefined ? before?.taken_over : backup.taken_over
    const record = recordAfterUndo(
      before ?? emptyRecord(target),
      main.entries,
      taken && stillTaken(taken, agent, rootIn(target, main.text)),
    )
    const connected = backup?.connected === undefined ? before?.chosen : backup.connected
    const after = { text: main.text, entries: record.entries, taken: record.taken_over?.entries ?? [] }
    const { keys, removedKeys } = keysAfter(this.#deps, target, after, null, by)
    return {
      main,
      otherDiff,
      steps,
      records: [{ ...record, keys, chosen: connected ?? null }],
      newKey: null,
      chosen: this.#choiceBack(agent.type, backup),
      removedKeys,
      audit: auditOf('agent_config_undone', target, main, otherDiff, by),
    }
  }

  /** The servers that the agent saw before the change, unless the user has changed its choice since. */
  #choiceBack(agentType: string, backup: Backup | undefined): Chosen | null {
    const { before, after } = backup?.chosen ?? { before: null, after: null }
    const now = this.#deps.offers.chosenFor(agentType)
    const isUnchanged = isSameChoice(after, now) && !isSameChoice(before, now)
    return backup?.chosen && isUnchanged ? { before: now, after: before } : null
  }

  /** The file with the content of the backup. */
  #restored(target: ConfigTarget, input: UndoInput, backup: Backup, content: Content | undefined) {
    const { path } = backup
    const isMain = path === target.config.path
    if (isMain) assertRevision(path, input.revision, content)
    const isCareful = input.backup_id === undefined || input.if_unchanged
    if (isCareful && backup.after !== (content?.revision ?? null)) throw changedSince(path)
    const bytes = this.#deps.backups.content(backup)
    if (bytes === undefined) throw missingBackup(path)
    const next = bytes === null ? undefined : contentOf(path, bytes)
    const [from, to] = isMain ? [contentIn(target, content), contentIn(target, next)] : [NOTHING, NOTHING]
    const [before, after] = [from.entries, to.entries]
    const isSame = (content?.revision ?? null) === (next?.revision ?? null)
    const difference = differenceOf(before, after)
    return {
      plan: difference,
      ...(isMain && { changes: entryChanges(from, to, difference) }),
      started: startedEntries(before, after),
      ...diffsOf(path, content?.text ?? '', next?.text ?? '', [...before, ...after], backup.names, [
        from.root,
        to.root,
      ]),
      revision: next?.revision ?? null,
      next: isSame ? undefined : bytes,
      entries: after,
      text: next?.text ?? '',
    }
  }

  history(key: string, scope: string | undefined, project: string | undefined): HistoryItem[] {
    const { backups, platform } = this.#deps
    const agent = agentOf(key)
    const targets = configTargets(agent, platform, project)
    const revisions = new Map<string, string | null | undefined>()
    const currentRevision = (path: string, target: ConfigTarget) => {
      if (!revisions.has(path)) revisions.set(path, revisionNow({ path, root: rootOf(target) }))
      return revisions.get(path)
    }
    return backups
      .of(agent.type)
      .filter((backup) => scope === undefined || backup.scope === scope)
      .filter(({ main }) => project === undefined || targets.some(({ config }) => config.path === main))
      .map((backup) => {
        const { id, ts, path, main, action, names, changes = [], after, request_id } = backup
        const target = targets.find(({ config }) => config.path === main)
        const current = target !== undefined && after === currentRevision(path, target)
        return {
          id,
          ts: isoTime(ts),
          scope: backup.scope,
          path,
          action,
          names: [...names],
          changes: [...changes],
          current,
          request_id,
        }
      })
  }
}

const INVALID_KEY = 'The file has a gateway key that is no longer valid. Connect the agent again'

/** The agent's own file decides whether an undo that was interrupted is completed. */
const mainLast = (main: string) => (a: Backup, b: Backup) => Number(a.path === main) - Number(b.path === main)

/**
 * The backups of all files that one request changed. Undoing twice goes back two requests: an undo cancels itself and
 * the change before it.
 */
function backupsToRestore(all: readonly Backup[], id: string | undefined, path: string): Backup[] {
  const named = id === undefined ? undefined : all.find((backup) => backup.id === id)
  if (named?.action === 'foreign_edit') return [named]
  if (id !== undefined && !named) throw new AppError('nothing_to_undo', `${path} has no backup '${id}'`)
  const own = all.filter(({ action }) => action !== 'foreign_edit')
  const wanted = named?.change ?? newestNotUndone(own)
  if (wanted === undefined) throw new AppError('nothing_to_undo', `${path} has no change left to undo`)
  return own.filter(({ change }) => change === wanted)
}

function newestNotUndone(backups: readonly Backup[]): string | undefined {
  let skip = 0
  for (const change of new Set(backups.map((backup) => backup.change))) {
    if (backups.some((backup) => backup.change === change && backup.action === 'undo')) skip += 1
    else if (skip > 0) skip -= 1
    else return change
  }
  return undefined
}

/** The restored content counts as written by us, so our entries get its hashes. */
function recordAfterUndo(
  record: FileRecord,
  after: readonly Entry[],
  taken_over: TakenOver | null = null,
): FileRecord {
  const isReplaced = (each: TakenOver | null | undefined, name: string) =>
    each?.entries.find((entry) => entry.replaced && entry.name === name)
  const kept = Object.entries(record.entries).flatMap(([name, owned]): [string, OwnedEntry][] => {
    const former = isReplaced(taken_over, name) ? undefined : isReplaced(record.taken_over, name)
    if (former) return former.owned ? [[name, former.owned]] : []
    return [[name, owned]]
  })
  const replacing = (taken_over?.entries ?? []).flatMap(({ name, server_id, replaced }): typeof kept => {
    const isKnown = !replaced || Object.hasOwn(record.entries, name)
    return isKnown ? [] : [[name, { server_id, hash: '', parked: null }]]
  })
  const entries = [...kept, ...replacing].flatMap(([name, owned]) => {
    const restored = after.find((entry) => entry.name === name)
    if (restored && owned.own) return []
    if (restored)
      return [
        [name, { ...owned, hash: hashOf(restored.value), parked: null, value: restored.value }] as const,
      ]
    return owned.parked === null ? [] : [[name, owned] as const]
  })
  const isEmpty = entries.length === 0
  return {
    ...record,
    entries: Object.fromEntries(entries),
    trace: isEmpty ? null : record.trace,
    made_file: !isEmpty && record.made_file,
    taken_over,
  }
}

const emptyRecord = (target: ConfigTarget): FileRecord => ({
  ...recordKey(target, target.config.path, target.config.keyPath),
  trace: null,
  made_file: false,
  entries: {},
})

/** Without the entries that the restored content has. */
function stillTaken(taken: TakenOver, agent: Agent, root: Json | undefined): TakenOver | null {
  const entries = taken.entries.filter(({ name, path, replaced }) => {
    const present = valueAt(root, path)
    return replaced ? leadsToGateway(agent, name, present) : present === undefined
  })
  return entries.length === 0 ? null : { ...taken, entries }
}

/** Undefined for a file that cannot be parsed. */
function rootIn(target: ConfigTarget, text: string): Json | undefined {
  try {
    return readEntries(target, text).root
  } catch {
    return undefined
  }
}

/** The result if only other files of the agent are restored. */
function unchanged(target: ConfigTarget) {
  const content = readConfig(fileOf(target))
  return {
    plan: differenceOf([], []),
    content,
    started: [],
    diff: '',
    publicDiff: '',
    revision: content?.revision ?? null,
    entries: contentIn(target, content).entries,
    text: content?.text ?? '',
  }
}

/** Which entries differ between two contents. */
function differenceOf(before: readonly Entry[], after: readonly Entry[]) {
  const hashes = (entries: readonly Entry[]) =>
    new Map(entries.map(({ name, value }) => [name, hashOf(value)]))
  const [old, now] = [hashes(before), hashes(after)]
  const names = [...now.keys()]
  return {
    warnings: [] as string[],
    added: names.filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    updated: names.filter((name) => old.has(name) && old.get(name) !== now.get(name)),
  }
}

const NOTHING: ReturnType<typeof readEntries> = { root: undefined, entries: [] }

/** Nothing for a file that cannot be parsed: a file that was damaged since then must not prevent the undo. */
function contentIn(target: ConfigTarget, content: Content | undefined): ReturnType<typeof readEntries> {
  try {
    return content ? readEntries(target, content.text) : NOTHING
  } catch {
    return NOTHING
  }
}

const changedSince = (path: string): AppError =>
  new AppError(
    'config_changed',
    `Another program has changed ${path} since that change; nothing was undone`,
    {
      hint: 'Send backup_id to restore it anyway. The current content is kept as a backup',
    },
  )

const missingBackup = (path: string): AppError =>
  new AppError('nothing_to_undo', `The backup of ${path} from before that change is missing or damaged`)
