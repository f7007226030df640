import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry, PublicNotice } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { EventSource, SourceQuery } from '../events/events.service.ts'
import { NoticeBoard } from './notice-board.ts'
import { type CauseSources, CauseWatch } from './notice-cause-watch.ts'
import {
  type Mutes,
  type MutesInput,
  type Notice,
  type NoticeQuery,
  type NoticeView,
  RULES,
} from './notices.schema.ts'

/** Keeps notices across restarts of Toolroom. `store/` implements it. */
export interface NoticeStore {
  /** Of earlier runs. */
  all(): Promise<readonly Notice[]>
  save(changed: readonly Notice[], forgotten: readonly number[]): Promise<void>
  mutes(): Mutes
  setMutes(mutes: Mutes, audit: AuditEntry): Promise<void>
}

interface Deps extends CauseSources {
  readonly store: NoticeStore
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}

const SAVE_AFTER_MS = 250

/** What needs a person. Also the source of the warnings in `/api/health`. */
export class Notices {
  readonly #deps: Deps
  readonly #board: NoticeBoard
  readonly #causes: CauseWatch
  readonly #unsaved = new Map<number, Notice>()
  readonly #forgotten = new Set<number>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps, stored: readonly Notice[]) {
    this.#deps = deps
    const { now, clock, redact } = deps
    this.#board = new NoticeBoard({ now, clock, redact, onChange: (notice) => this.#changed(notice) }, stored)
    this.#causes = new CauseWatch(deps, this.#board, () => this.#refresh())
  }

  static async open(deps: Deps): Promise<Notices> {
    const stored = await deps.store.all()
    const known = stored.filter(({ kind }) => Object.hasOwn(RULES, kind)) // an older version may have others
    return new Notices(deps, known.map(typed))
  }

  list({ state = 'open', limit = 100, cursor }: NoticeQuery, isOwner: boolean) {
    this.#refresh()
    const notices = state === 'open' ? this.#open() : this.#board.all
    const left = notices.filter(({ id }) => cursor === undefined || id < Number(cursor))
    const page = left.slice(0, limit)
    return {
      items: page.map((notice) => (isOwner ? viewOf(notice) : publicView(notice))) as NoticeView[],
      total: notices.length,
      next_cursor: left.length > limit ? String(page.at(-1)?.id) : null,
    }
  }

  see(key: string): NoticeView {
    const notice = /^[1-9]\d{0,14}$/.test(key) ? this.#board.see(Number(key)) : undefined
    if (!notice) throw new AppError('not_found', `No notice has the id '${key.slice(0, 100)}'`)
    return viewOf(notice)
  }

  mutes(): Mutes {
    return this.#deps.store.mutes()
  }

  async setMutes({ kinds = [], servers = [] }: MutesInput, by: Caller): Promise<Mutes> {
    const { store, upstreams } = this.#deps
    for (const [index, id] of servers.entries())
      if (!upstreams.get(id)) throw invalidField(`/servers/${index}`, 'must be the id of a server')
    const next = { kinds, servers }
    await store.setMutes(next, { action: 'notices_muted', subject: 'notices', ...by, detail: next })
    return next
  }

  /** For `/api/health`: open notices, and whether something that should work does not. */
  health() {
    this.#refresh()
    const open = this.#open()
    const isDegraded = open.some((notice) => RULES[notice.kind].degrades && this.#board.isPresent(notice))
    return { isDegraded, open: open.map(({ kind, text }) => ({ kind, text })) }
  }

  /** When notices were opened and resolved, for `events/`. From memory. */
  get events(): EventSource {
    const matching = ({ server_ids, since = 0, until = Number.MAX_SAFE_INTEGER, before }: SourceQuery) =>
      this.#board.all
        .flatMap(eventsOf)
        .filter(({ ts }) => ts >= since && ts <= until)
        .filter(({ server_id }) => !server_ids || (server_id !== null && server_ids.includes(server_id)))
        .filter(({ ts, id }) => !before || ts < before.ts || (ts === before.ts && id < before.id))
        .sort((a, b) => b.ts - a.ts || b.id - a.id)
    return {
      page: async (query) => matching(query).slice(0, query.limit),
      count: async (query) => Math.min(query.limit, matching(query).length),
    }
  }

  /** Looks at the files of all agents. */
  checkAgents(): void {
    this.#causes.checkAgents()
  }

  async close(): Promise<void> {
    this.#causes.close()
    await this.#save()
  }

  #changed(notice: Notice): void {
    this.#unsaved.set(notice.id, notice)
    this.#timer ??= setTimeout(() => void this.#save(), SAVE_AFTER_MS)
    if (!this.#isMuted(notice)) this.#deps.facts.publish('notice', publicView(notice))
  }

  /** What cannot be saved stays in memory, and is saved with the next change. */
  async #save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const [changed, old] = [[...this.#unsaved.values()], [...this.#forgotten]]
    this.#unsaved.clear()
    this.#forgotten.clear()
    if (changed.length === 0 && old.length === 0) return
    try {
      await this.#deps.store.save(changed, old)
    } catch (error) {
      for (const notice of changed) if (!this.#unsaved.has(notice.id)) this.#unsaved.set(notice.id, notice)
      for (const id of old) this.#forgotten.add(id)
      // A full disk is a notice of its own, and a log line about it would be lost like the others.
      if (!(error instanceof AppError) || error.code !== 'disk_full') this.#deps.onError(error)
    }
  }

  #isMuted({ kind, server_id }: Notice): boolean {
    const { kinds, servers } = this.mutes()
    return kinds.includes(kind) || (server_id !== null && servers.includes(server_id))
  }

  #open(): Notice[] {
    return this.#board.open.filter((notice) => !this.#isMuted(notice))
  }

  /** Looks at every cause now: every second, and for a response, which is never older than what it is about. */
  #refresh(): void {
    this.#causes.check()
    for (const id of this.#board.resolve()) this.#forgotten.add(id)
  }
}

/** Notices of earlier versions have only a page. */
const typed = (notice: Notice): Notice =>
  Object.hasOwn(notice.action, 'kind') ? notice : { ...notice, action: { ...notice.action, kind: 'see_log' } }

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

const viewOf = (notice: Notice): NoticeView =>
  ({ ...publicView(notice), evidence: notice.evidence }) as NoticeView

/** Even ids for notices that were opened, odd ones for those that are resolved. */
function eventsOf(notice: Notice) {
  const { id, at, resolved_at, server_id, agent_type, text } = notice
  const data = viewOf(notice)
  const opened = { id: id * 2, ts: at, server_id, agent_type, text, data }
  if (resolved_at === null) return [opened]
  return [opened, { ...opened, id: id * 2 + 1, ts: resolved_at, text: `Resolved: ${text}` }]
}
