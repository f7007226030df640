import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus, PublicNotice } from '../../kernel/facts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Caller } from '../../kernel/wire.ts'
import { type Notice, RULES } from './notice.ts'
import { NoticeBoard } from './notice-board.ts'
import type { Mutes, MutesInput, NoticeQuery, NoticeView } from './notices.schema.ts'
import { type Sources, watchCauses } from './watch-causes.ts'

/** Keeps notices across restarts of Toolroom. `store/` implements it. */
export interface NoticeStore {
  /** Of earlier runs. */
  all(): Promise<readonly Notice[]>
  save(changed: readonly Notice[], forgotten: readonly number[]): Promise<void>
  mutes(): Mutes
  setMutes(mutes: Mutes, audit: AuditEntry): Promise<void>
}

export interface Deps extends Sources {
  readonly facts: FactBus
  readonly store: NoticeStore
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}

const SAVE_AFTER_MS = 250

/** What needs a person. Also the source of the warnings in `/api/health`. */
export async function createNotices(deps: Deps) {
  const { facts, store, now, clock, redact } = deps
  const unsaved = new Map<number, Notice>()
  const forgotten = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  const stored = (await store.all()).filter(({ kind }) => Object.hasOwn(RULES, kind)) // an older version may have others
  const board = new NoticeBoard({ now, clock, redact, onChange }, stored)
  const causes = watchCauses(deps, board, refresh)

  function onChange(notice: Notice): void {
    unsaved.set(notice.id, notice)
    timer ??= setTimeout(() => void save(), SAVE_AFTER_MS)
    if (!isMuted(notice)) facts.publish('notice', publicView(notice))
  }

  /** What cannot be saved stays in memory, and is saved with the next change. */
  async function save(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const [changed, old] = [[...unsaved.values()], [...forgotten]]
    unsaved.clear()
    forgotten.clear()
    if (changed.length === 0 && old.length === 0) return
    try {
      await store.save(changed, old)
    } catch (error) {
      for (const notice of changed) if (!unsaved.has(notice.id)) unsaved.set(notice.id, notice)
      for (const id of old) forgotten.add(id)
      // A full disk is a notice of its own, and a log line about it would be lost like the others.
      if (!(error instanceof AppError) || error.code !== 'disk_full') deps.onError(error)
    }
  }

  function isMuted({ kind, server_id }: Notice): boolean {
    const { kinds, servers } = store.mutes()
    return kinds.includes(kind) || (server_id !== null && servers.includes(server_id))
  }

  /** Looks at every cause now: every second, and for a response, which is never older than what it is about. */
  function refresh(): void {
    causes.check()
    for (const id of board.resolve()) forgotten.add(id)
  }

  const openNotices = (): Notice[] => board.open.filter((notice) => !isMuted(notice))

  return {
    refresh,

    /** Every notice, newest first. */
    all: (): Notice[] => board.all,

    list({ state = 'open', limit = 100, cursor }: NoticeQuery, isOwner: boolean) {
      refresh()
      const notices = state === 'open' ? openNotices() : board.all
      const left = notices.filter(({ id }) => cursor === undefined || id < Number(cursor))
      const page = left.slice(0, limit)
      return {
        items: page.map((notice) => (isOwner ? viewOf(notice) : publicView(notice))) as NoticeView[],
        total: notices.length,
        next_cursor: left.length > limit ? String(page.at(-1)?.id) : null,
      }
    },

    see(key: string): NoticeView {
      const notice = /^[1-9]\d{0,14}$/.test(key) ? board.see(Number(key)) : undefined
      if (!notice) throw new AppError('not_found', `No notice has the id '${key.slice(0, 100)}'`)
      return viewOf(notice)
    },

    mutes: (): Mutes => store.mutes(),

    async setMutes({ kinds = [], servers = [] }: MutesInput, by: Caller): Promise<Mutes> {
      for (const [index, id] of servers.entries())
        if (!deps.upstreams.get(id)) throw invalidField(`/servers/${index}`, 'must be the id of a server')
      const next = { kinds, servers }
      await store.setMutes(next, { action: 'notices_muted', subject: 'notices', ...by, detail: next })
      return next
    },

    /** For `/api/health`: open notices, and whether something that should work does not. */
    health() {
      refresh()
      const open = openNotices()
      const isDegraded = open.some((notice) => RULES[notice.kind].degrades && board.isPresent(notice))
      return { isDegraded, open: open.map(({ kind, text }) => ({ kind, text })) }
    },

    /** Looks at the files of agents: of this one, or of all. */
    checkAgents: causes.checkAgents,

    async close(): Promise<void> {
      causes.close()
      await save()
    },
  }
}
export type Notices = Awaited<ReturnType<typeof createNotices>>

function publicView(notice: Notice): PublicNotice {
  const { id, kind, server_id, agent_type, text, action, at, count, seen_at, resolved_at } = notice
  return {
    id,
    kind,
    level: RULES[kind].level,
    server_id,
    agent_type,
    text,
    action,
    at: isoTime(at),
    count,
    seen_at: seen_at === null ? null : isoTime(seen_at),
    resolved_at: resolved_at === null ? null : isoTime(resolved_at),
  }
}

export const viewOf = (notice: Notice): NoticeView =>
  ({ ...publicView(notice), evidence: notice.evidence }) as NoticeView
