import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { HistoryItem } from '../agents.schema.ts'
import { unifiedDiff } from '../diff/unified.ts'
import { visibleText } from '../diff/visible-text.ts'
import type { Backup } from '../files/backups.ts'
import { type ConfigFile, readConfig } from '../files/config-file.ts'
import {
  agentOf,
  assertMayChange,
  type ConfigTarget,
  configTarget,
  configTargets,
  fileOf,
  lockedFile,
  rootOf,
} from '../files/config-target.ts'
import { type Content, contentOf } from '../files/config-text.ts'
import { hashOf } from '../formats/json-value.ts'
import { type Entry, readEntries } from '../read/read-entries.ts'
import { assertRevision } from './change-file.ts'
import type { Plan } from './change-plan.ts'
import { auditOf, publishChange, reportOf } from './change-report.ts'
import type { ChangeReport, UndoInput } from './edit.schema.ts'
import type { EditDeps } from './edit.service.ts'
import { FileEdit } from './file-edit.ts'
import { type FileRecord, recordOf } from './ownership.ts'

/** Restores the exact bytes from before a change, in every file that the change touched. */
export function createUndo(deps: EditDeps) {
  const { backups, ownership, platform } = deps

  function undoEdit(target: ConfigTarget, input: UndoInput, backup: Backup, change: string, by: Caller) {
    const { agent_type, scope, path, main, names } = backup
    const { request_id } = by
    // The agent's own lock protects its main file.
    const file =
      path === target.place.path
        ? lockedFile(deps.lockLedger, target)
        : { path, root: rootOf(target), lock: null }
    return new FileEdit(deps, {
      file,
      record: () => undefined,
      compute: (content) => computeUndo(target, input, backup, content),
      backupFacts: () => ({ agent_type, scope, path, main, names, change, action: 'undo', request_id }),
    })
  }

  function computeUndo(target: ConfigTarget, input: UndoInput, backup: Backup, content: Content | undefined) {
    const { path } = backup
    const isMain = path === target.place.path
    if (isMain) assertRevision(path, input.revision, content)
    if (input.backup_id === undefined && backup.after !== (content?.revision ?? null))
      throw changedSince(path)
    const bytes = backups.content(backup)
    if (bytes === undefined) throw missingBackup(path)
    const next = bytes === null ? undefined : contentOf(path, bytes)
    const [before, after] = isMain ? [entriesIn(target, content), entriesIn(target, next)] : [[], []]
    const definitions = [...before, ...after].flatMap(({ definition }) => definition ?? [])
    const names = [...backup.names, ...[...before, ...after].map(({ name }) => name)]
    const isSame = (content?.revision ?? null) === (next?.revision ?? null)
    return {
      plan: differenceOf(before, after),
      diff: unifiedDiff(path, content?.text ?? '', next?.text ?? '', visibleText(definitions, names)),
      revision: next?.revision ?? null,
      next: isSame ? undefined : bytes,
      entries: after,
    }
  }

  /** The result if only other files of the agent are restored. */
  function unchanged(target: ConfigTarget) {
    const content = readConfig(fileOf(target))
    const kept = { backup: null, foreign: null }
    const entries = entriesIn(target, content)
    return { plan: differenceOf([], []), diff: '', revision: content?.revision ?? null, entries, ...kept }
  }

  return {
    async undo(key: string, input: UndoInput, by: Caller): Promise<ChangeReport> {
      const target = configTarget(agentOf(key), platform, input)
      const { agent, place } = target
      assertMayChange(target, true)
      const all = backups.of(agent.type).filter(({ main }) => main === place.path)
      const change = randomBytes(6).toString('hex')
      const edits = backupsToRestore(all, input.backup_id, place.path).map((backup) => ({
        path: backup.path,
        edit: undoEdit(target, input, backup, change, by),
      }))
      // All or nothing: a file that was changed since then must not leave the others half undone.
      const previews = edits.map(({ path, edit }) => ({ path, edit, preview: edit.preview() }))
      let otherDiff = ''
      let main: (typeof previews)[number]['preview'] | undefined
      for (const { path, edit, preview } of previews) {
        const result = input.dry_run ? preview : await edit.write()
        if (path === place.path) main = result
        else otherDiff += result.diff
      }
      const result = main ?? unchanged(target)
      if (!input.dry_run) {
        const record = recordOf(ownership, place.path, place.keyPath)
        const audit = auditOf('agent_config_undone', target, result, otherDiff, by)
        if (record) await ownership.save(recordAfterUndo(record, result.entries), audit)
        publishChange(deps.facts, target)
      }
      return reportOf(target, input, result, otherDiff)
    },

    history(key: string, scope: string | undefined, project: string | undefined): HistoryItem[] {
      const agent = agentOf(key)
      const targets = configTargets(agent, platform, project)
      return backups
        .of(agent.type)
        .filter((backup) => scope === undefined || backup.scope === scope)
        .filter(({ main }) => project === undefined || targets.some(({ place }) => place.path === main))
        .map((backup) => {
          const { id, ts, path, main, action, names, after, request_id } = backup
          const target = targets.find(({ place }) => place.path === main)
          const current = target !== undefined && after === currentRevision({ path, root: rootOf(target) })
          return {
            id,
            ts: isoTime(ts),
            scope: backup.scope,
            path,
            action,
            names: [...names],
            current,
            request_id,
          }
        })
    },
  }
}

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
function recordAfterUndo(record: FileRecord, after: readonly Entry[]): FileRecord {
  const entries = Object.entries(record.entries).flatMap(([name, owned]) => {
    const restored = after.find((entry) => entry.name === name)
    if (restored) return [[name, { ...owned, hash: hashOf(restored.value), parked: null }] as const]
    return owned.parked === null ? [] : [[name, owned] as const]
  })
  const isEmpty = entries.length === 0
  return {
    ...record,
    entries: Object.fromEntries(entries),
    trace: isEmpty ? null : record.trace,
    made_file: !isEmpty && record.made_file,
  }
}

/** Which entries differ between two contents. */
function differenceOf(before: readonly Entry[], after: readonly Entry[]): Plan {
  const hashes = (entries: readonly Entry[]) =>
    new Map(entries.map(({ name, value }) => [name, hashOf(value)]))
  const [old, now] = [hashes(before), hashes(after)]
  const names = [...now.keys()]
  return {
    operations: [],
    otherFiles: [],
    entries: {},
    added: names.filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    updated: names.filter((name) => old.has(name) && old.get(name) !== now.get(name)),
    warnings: [],
  }
}

/** No entries for a file that cannot be parsed: a file that was damaged since then must not prevent the undo. */
function entriesIn(target: ConfigTarget, content: Content | undefined): readonly Entry[] {
  try {
    return content ? readEntries(target, content.text).entries : []
  } catch {
    return []
  }
}

function currentRevision(file: Pick<ConfigFile, 'path' | 'root'>): string | null | undefined {
  try {
    return readConfig(file)?.revision ?? null
  } catch {
    return undefined
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
