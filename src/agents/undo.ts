import { AppError } from '../kernel/errors.ts'
import { isoTime } from '../kernel/time.ts'
import type { Caller } from '../kernel/wire.ts'
import type { HistoryItem } from './agents.schema.ts'
import { assertSeen, type FileChange, fileOf, lockedFile } from './change-file.ts'
import { shownOf } from './diff/shown.ts'
import { unifiedDiff } from './diff/unified.ts'
import type { ChangeReport, UndoInput } from './editing.schema.ts'
import { type EditingDeps, reportOf } from './editing.ts'
import type { Backup } from './files/backups.ts'
import { changeConfig, readConfig } from './files/config-file.ts'
import { type Content, contentOf } from './files/config-text.ts'
import { type FileRecord, recordOf } from './ownership.ts'
import type { Plan } from './plan.ts'
import { type Entry, entriesIn, type Where } from './reading.ts'
import { hashOf } from './values.ts'
import { agentOf, assertMayChange, whereOf, wheresOf } from './where.ts'

/** The way back: to the very bytes that stood there before a change. */
export function createUndo(deps: EditingDeps) {
  const { backups, platform } = deps

  function compute(where: Where, input: UndoInput, content: Content | undefined) {
    const { path } = where.place
    assertSeen(path, input.revision, content)
    const backup = chosen(backups.of(where.agent.type, path), input.backup_id, path)
    if (input.backup_id === undefined && backup.after !== (content?.revision ?? null))
      throw changedSince(path)
    const bytes = backups.content(backup)
    if (bytes === undefined) throw lost(path)
    const next = bytes === null ? undefined : contentOf(path, bytes)
    const [before, after] = [readable(where, content), readable(where, next)]
    const definitions = [...before, ...after].flatMap(({ definition }) => definition ?? [])
    const shown = shownOf(
      definitions,
      [...before, ...after].map(({ name }) => name),
    )
    const isSame = (content?.revision ?? null) === (next?.revision ?? null)
    const change: FileChange & { bytes: Buffer | null | undefined; after: readonly Entry[] } = {
      plan: planOf(before, after),
      diff: unifiedDiff(path, content?.text ?? '', next?.text ?? '', shown),
      backup: null,
      foreign: null,
      revision: next?.revision ?? null,
      trace: null,
      bytes: isSame ? undefined : bytes,
      after,
    }
    return change
  }

  return {
    async undo(key: string, input: UndoInput, by: Caller): Promise<ChangeReport> {
      const where = whereOf(agentOf(key), platform, input)
      const { agent, place } = where
      assertMayChange(where, true)
      if (input.dry_run) {
        return reportOf({ where, how: input }, compute(where, input, readConfig(fileOf(where))), '')
      }
      let backup: Backup | null = null
      const change = await changeConfig(lockedFile(deps, where), (content) => {
        const computed = compute(where, input, content)
        const { added, updated, removed } = computed.plan
        const facts = {
          ts: deps.now(),
          agent_type: agent.type,
          scope: place.scope,
          path: place.path,
          names: [...added, ...updated, ...removed],
          after: computed.revision,
          request_id: by.request_id,
        }
        return {
          next: computed.bytes,
          result: computed,
          secure: () => {
            const kept = backups.keep({ ...facts, action: 'undo' }, content?.bytes ?? null)
            backup = kept
            return () => backups.discard(kept)
          },
          onForeign: (bytes) => void backups.keep({ ...facts, action: 'foreign_edit' }, bytes),
        }
      })
      await remember(where, change, by)
      return reportOf({ where, how: input }, { ...change, backup }, '')
    },

    history(key: string, scope: string | undefined, project: string | undefined): HistoryItem[] {
      const agent = agentOf(key)
      const wheres = wheresOf(agent, platform, project)
      return backups
        .of(agent.type)
        .filter((backup) => scope === undefined || backup.scope === scope)
        .filter(({ path }) => project === undefined || wheres.some(({ place }) => place.path === path))
        .map(({ id, ts, scope: of, path, action, names, after, request_id }) => {
          const current = after === revisionNow(wheres, path)
          return { id, ts: isoTime(ts), scope: of, path, action, names: [...names], current, request_id }
        })
    },
  }

  async function remember(where: Where, change: ReturnType<typeof compute>, by: Caller): Promise<void> {
    const { agent, place } = where
    const { added, updated, removed } = change.plan
    const audit = {
      action: 'agent_config_undone',
      subject: agent.type,
      request_id: by.request_id,
      detail: { scope: place.scope, path: place.path, added, updated, removed, diff: change.diff },
    }
    const record = recordOf(deps.ownership, place.path, place.keyPath)
    if (record) await deps.ownership.save(reconciled(record, change.after), audit)
    const fact = { agent_type: agent.type, scope: place.scope, path: place.path }
    deps.facts.publish('agent_changed', { ...fact, by: 'toolroom', drift: [] })
  }
}

/** Undoing twice goes back two changes: an undo takes away the change before it, and itself. */
function chosen(all: readonly Backup[], id: string | undefined, path: string): Backup {
  const changes = all.filter(({ action }) => action !== 'foreign_edit' || id !== undefined)
  if (id !== undefined) {
    const named = changes.find((backup) => backup.id === id)
    if (!named) throw new AppError('nothing_to_undo', `There is no backup '${id}' of ${path}`)
    return named
  }
  let skip = 0
  for (const backup of changes) {
    if (backup.action === 'undo') skip += 1
    else if (skip > 0) skip -= 1
    else return backup
  }
  throw new AppError('nothing_to_undo', `No change of ${path} is left to undo`)
}

/** The content is ours again, so what it says of our entries is what we left. */
function reconciled(record: FileRecord, after: readonly Entry[]): FileRecord {
  const entries = Object.entries(record.entries).flatMap(([name, owned]) => {
    const there = after.find((entry) => entry.name === name)
    if (there) return [[name, { ...owned, hash: hashOf(there.value), parked: null }] as const]
    return owned.parked === null ? [] : [[name, owned] as const]
  })
  return {
    ...record,
    entries: Object.fromEntries(entries),
    trace: entries.length === 0 ? null : record.trace,
  }
}

function planOf(before: readonly Entry[], after: readonly Entry[]): Plan {
  const names = (entries: readonly Entry[]) => entries.map(({ name }) => name)
  const hash = (entries: readonly Entry[], name: string) => {
    const found = entries.find((entry) => entry.name === name)
    return found && hashOf(found.value)
  }
  const [old, now] = [names(before), names(after)]
  return {
    operations: [],
    elsewhere: [],
    entries: {},
    added: now.filter((name) => !old.includes(name)),
    removed: old.filter((name) => !now.includes(name)),
    updated: now.filter((name) => old.includes(name) && hash(before, name) !== hash(after, name)),
    warnings: [],
  }
}

/** A file that was broken since must not keep anybody from going back. */
function readable(where: Where, content: Content | undefined): readonly Entry[] {
  try {
    return content ? entriesIn(where, content.text) : []
  } catch {
    return []
  }
}

function revisionNow(wheres: readonly Where[], path: string): string | null {
  const where = wheres.find(({ place }) => place.path === path)
  try {
    return where ? (readConfig(fileOf(where))?.revision ?? null) : null
  } catch {
    return null
  }
}

const changedSince = (path: string): AppError =>
  new AppError('config_changed', `${path} was changed by another program after that; nothing was undone`, {
    hint: 'Send backup_id to go back all the same: what is there now is kept as a backup, too',
  })

const lost = (path: string): AppError =>
  new AppError('nothing_to_undo', `The copy of ${path} from before that change is gone or damaged`)
