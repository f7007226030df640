import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { HistoryItem } from '../agents.schema.ts'
import { shownOf } from '../diff/shown.ts'
import { unifiedDiff } from '../diff/unified.ts'
import type { Backup } from '../files/backups.ts'
import { type ConfigFile, readConfig } from '../files/config-file.ts'
import { agentOf, assertMayChange, whereOf, wheresOf } from '../files/config-target.ts'
import { type Content, contentOf } from '../files/config-text.ts'
import { hashOf } from '../formats/json-value.ts'
import { type Entry, entriesIn, rootOf, type Where } from '../read/read-entries.ts'
import { assertSeen, fileOf, lockedFile, writeKept } from './change-file.ts'
import type { Plan } from './change-plan.ts'
import type { ChangeReport, UndoInput } from './edit.schema.ts'
import { type EditingDeps, reportOf } from './edit.service.ts'
import { type FileRecord, recordOf } from './ownership.ts'

/** The way back: to the very bytes that stood there before a change, in every file that it touched. */
export function createUndo(deps: EditingDeps) {
  const { backups, platform } = deps

  function compute(where: Where, input: UndoInput, backup: Backup, content: Content | undefined) {
    const { path } = backup
    if (path === where.place.path) assertSeen(path, input.revision, content)
    if (input.backup_id === undefined && backup.after !== (content?.revision ?? null))
      throw changedSince(path)
    const bytes = backups.content(backup)
    if (bytes === undefined) throw lost(path)
    const next = bytes === null ? undefined : contentOf(path, bytes)
    const isMain = path === where.place.path
    const [before, after] = isMain ? [readable(where, content), readable(where, next)] : [[], []]
    const definitions = [...before, ...after].flatMap(({ definition }) => definition ?? [])
    const names = [...backup.names, ...[...before, ...after].map(({ name }) => name)]
    const isSame = (content?.revision ?? null) === (next?.revision ?? null)
    return {
      plan: planOf(before, after),
      diff: unifiedDiff(path, content?.text ?? '', next?.text ?? '', shownOf(definitions, names)),
      revision: next?.revision ?? null,
      trace: null,
      madeFile: false,
      next: isSame ? undefined : bytes,
      after,
    }
  }

  /** The agent's own lock is about its main file. */
  const fileFor = (where: Where, path: string): ConfigFile =>
    path === where.place.path ? lockedFile(deps, where) : { path, root: rootOf(where), lock: null }

  async function undoOne(where: Where, input: UndoInput, backup: Backup, change: string, by: Caller) {
    const file = fileFor(where, backup.path)
    if (input.dry_run)
      return { ...compute(where, input, backup, readConfig(file)), backup: null, foreign: null }
    const { agent_type, scope, path, main, names } = backup
    const facts = { agent_type, scope, path, main, names, change, action: 'undo' as const, ...by }
    return writeKept(deps, file, (content) => ({ computed: compute(where, input, backup, content), facts }))
  }

  async function remember(
    where: Where,
    after: readonly Entry[],
    audit: Parameters<typeof deps.ownership.save>[1],
  ) {
    const record = recordOf(deps.ownership, where.place.path, where.place.keyPath)
    if (record) await deps.ownership.save(reconciled(record, after), audit)
    const { agent, place } = where
    const fact = { agent_type: agent.type, scope: place.scope, path: place.path }
    deps.facts.publish('agent_changed', { ...fact, by: 'toolroom', drift: [] })
  }

  return {
    async undo(key: string, input: UndoInput, by: Caller): Promise<ChangeReport> {
      const where = whereOf(agentOf(key), platform, input)
      const { agent, place } = where
      assertMayChange(where, true)
      const all = backups.of(agent.type).filter(({ main }) => main === place.path)
      const group = chosen(all, input.backup_id, place.path)
      // Nothing is undone by half: whoever changed one of the files keeps all of them as they are.
      for (const backup of group) compute(where, input, backup, readConfig(fileFor(where, backup.path)))
      const change = randomBytes(6).toString('hex')
      let elsewhere = ''
      let main: Awaited<ReturnType<typeof undoOne>> | undefined
      for (const backup of group) {
        const done = await undoOne(where, input, backup, change, by)
        if (backup.path === place.path) main = done
        else elsewhere += done.diff
      }
      const now = readConfig(fileOf(where))
      const entries = readable(where, now)
      const result = main ?? { ...nothing(entries), revision: now?.revision ?? null }
      if (!input.dry_run) {
        const { added, updated, removed } = result.plan
        const detail = {
          scope: place.scope,
          path: place.path,
          added,
          updated,
          removed,
          diff: result.diff + elsewhere,
        }
        await remember(where, result.after, {
          action: 'agent_config_undone',
          subject: agent.type,
          ...by,
          detail,
        })
      }
      return reportOf({ where, how: input }, result, elsewhere)
    },

    history(key: string, scope: string | undefined, project: string | undefined): HistoryItem[] {
      const agent = agentOf(key)
      const wheres = wheresOf(agent, platform, project)
      const mine = backups
        .of(agent.type)
        .filter((backup) => scope === undefined || backup.scope === scope)
        .filter(({ main }) => project === undefined || wheres.some(({ place }) => place.path === main))
      return mine.map((backup) => {
        const { id, ts, scope: of, path, main, action, names, after, request_id } = backup
        const root = wheres.find(({ place }) => place.path === main)
        const current = root !== undefined && after === revisionNow({ path, root: rootOf(root) })
        return { id, ts: isoTime(ts), scope: of, path, action, names: [...names], current, request_id }
      })
    },
  }
}

const nothing = (entries: readonly Entry[]) => ({
  plan: planOf([], []),
  diff: '',
  trace: null,
  madeFile: false,
  backup: null,
  foreign: null,
  after: entries,
})

/**
 * Everything that one request changed. Undoing twice goes back two requests: an undo takes away the one before it,
 * and itself.
 */
function chosen(all: readonly Backup[], id: string | undefined, path: string): Backup[] {
  const named = id === undefined ? undefined : all.find((backup) => backup.id === id)
  if (named?.action === 'foreign_edit') return [named]
  if (id !== undefined && !named)
    throw new AppError('nothing_to_undo', `There is no backup '${id}' of ${path}`)
  const made = all.filter(({ action }) => action !== 'foreign_edit')
  const wanted = named?.change ?? newestLeft(made)
  if (wanted === undefined) throw new AppError('nothing_to_undo', `No change of ${path} is left to undo`)
  return made.filter(({ change }) => change === wanted)
}

function newestLeft(made: readonly Backup[]): string | undefined {
  let skip = 0
  for (const change of new Set(made.map((backup) => backup.change))) {
    if (made.some((backup) => backup.change === change && backup.action === 'undo')) skip += 1
    else if (skip > 0) skip -= 1
    else return change
  }
  return undefined
}

/** The content is ours again, so what it says of our entries is what we left. */
function reconciled(record: FileRecord, after: readonly Entry[]): FileRecord {
  const entries = Object.entries(record.entries).flatMap(([name, owned]) => {
    const there = after.find((entry) => entry.name === name)
    if (there) return [[name, { ...owned, hash: hashOf(there.value), parked: null }] as const]
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

function revisionNow(file: Pick<ConfigFile, 'path' | 'root'>): string | null | undefined {
  try {
    return readConfig(file)?.revision ?? null
  } catch {
    return undefined
  }
}

const changedSince = (path: string): AppError =>
  new AppError('config_changed', `${path} was changed by another program after that; nothing was undone`, {
    hint: 'Send backup_id to go back all the same: what is there now is kept as a backup, too',
  })

const lost = (path: string): AppError =>
  new AppError('nothing_to_undo', `The copy of ${path} from before that change is gone or damaged`)
