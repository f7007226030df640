import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus, PublicNotice } from '../../kernel/facts.ts'
import type { Orphan } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import * as cause from './causes.ts'
import { NoticeBoard } from './notice-board.ts'
import {
  type Cause,
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

interface Deps extends Sources {
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

const viewOf = (notice: Notice): NoticeView =>
  ({ ...publicView(notice), evidence: notice.evidence }) as NoticeView

/** Where causes are found. `compose/observe.ts` connects them. */
interface Sources {
  readonly facts: FactBus
  readonly upstreams: Pick<Upstreams, 'all' | 'get'>
  /** Whether all servers and packages are known. Before, nothing is resolved because it is missing. */
  readonly isComplete: () => boolean
  /** The names of the tools of a server that wait for approval. Undefined if changed tools are never held. */
  readonly heldTools: ((serverId: string) => readonly string[]) | undefined
  /** Files that need a person: of this agent, or of all. */
  readonly agentFiles: (agentType: string | undefined) => readonly cause.FileTrouble[]
  readonly packages: () => readonly cause.PackageState[]
  readonly orphans: () => Promise<readonly Orphan[]>
  readonly diskIsFull: () => boolean
  /** Why log lines are being lost; undefined while they are not. */
  readonly logFailure: () => string | undefined
  /** What is wrong with the settings. */
  readonly settings: () => readonly Cause[]
}

const CHECK_EVERY_MS = 1000
/** When many servers start, their states change many times a second. */
const CHECK_SOON_MS = 200
/** Reading the process table takes some milliseconds. */
const ORPHANS_EVERY_MS = 30_000
const AGENT_KINDS = ['agent_file_edited', 'agent_file_unreadable'] as const

/**
 * Reports causes to the board: crashes and changed tools when they happen, agents' files when they change, and everything
 * else whenever it is looked at, which is at least once a second.
 */
function watchCauses(sources: Sources, board: NoticeBoard, everySecond: () => void) {
  const { facts, upstreams, heldTools } = sources
  const checkTimer = setInterval(everySecond, CHECK_EVERY_MS).unref()
  const orphanTimer = setInterval(() => void checkOrphans(), ORPHANS_EVERY_MS).unref()

  function checkServers(): void {
    if (!sources.isComplete()) return
    const unsettled = new Set<string>()
    const causes: Cause[] = []
    for (const upstream of upstreams.all()) {
      const { trouble } = upstream
      if (trouble === 'unsettled') unsettled.add(upstream.id)
      else if (trouble) causes.push(cause.serverTrouble(upstream, trouble))
    }
    board.exist(cause.SERVER_KINDS, causes, ({ server_id }) => unsettled.has(server_id ?? ''))
  }

  let soon: NodeJS.Timeout | undefined
  const checkServersSoon = () => {
    soon ??= setTimeout(() => {
      soon = undefined
      checkServers()
    }, CHECK_SOON_MS).unref()
  }

  function checkHeld(): void {
    const held = upstreams.all().flatMap((upstream) => {
      const names = heldTools?.(upstream.id) ?? []
      return names.length === 0 ? [] : [cause.toolsHeld(upstream, names)]
    })
    board.exist(['tools_held'], held)
  }

  function checkDisk(): void {
    const failure = sources.logFailure()
    const full = sources.diskIsFull() ? [cause.diskFull()] : []
    const log = failure === undefined ? [] : [cause.logLinesLost(failure)]
    board.exist(['disk'], [...full, ...log])
  }

  function check(): void {
    if (!sources.isComplete()) return
    checkServers()
    checkHeld()
    checkDisk()
    board.exist(['package_update', 'package_deprecated'], sources.packages().flatMap(cause.packageCauses))
    board.exist(['weak_token', 'settings'], sources.settings())
  }

  async function checkOrphans(): Promise<void> {
    board.exist(['leaked_processes'], cause.leakedProcesses(await sources.orphans()))
  }

  function checkAgents(agentType?: string): void {
    const causes = sources.agentFiles(agentType).map(cause.fileTrouble)
    const isOther = (type: string | null) => agentType !== undefined && type !== agentType
    board.exist(AGENT_KINDS, causes, ({ agent_type }) => isOther(agent_type))
  }

  const stops = [
    facts.on('server_status', ({ server_id, state, error }) => {
      const upstream = upstreams.get(server_id)
      if (!upstream) return
      const { trouble } = upstream
      if (trouble && trouble !== 'unsettled' && state.status !== 'running')
        board.happened(cause.serverTrouble(upstream, trouble))
      else if (state.status === 'idle' && error) {
        const crash = { kind: 'crashed', what: 'crashed', message: error.message, hint: error.hint } as const
        board.happened(cause.serverTrouble(upstream, crash), true)
      }
      checkServersSoon()
    }),
    facts.on('http_server_check', checkServersSoon),
    facts.on('server_removed', ({ server_id }) => board.forgetServer(server_id)),
    facts.on('tools_changed', ({ server_id, added, removed, changed, tool_count }) => {
      const upstream = upstreams.get(server_id)
      const isFirstListing = added.length === tool_count && removed.length === 0
      const isChanged = added.length + removed.length + changed.length > 0
      if (!upstream || heldTools || isFirstListing || !isChanged) return
      board.happened(cause.toolsChanged(upstream, { added, removed, changed }))
    }),
    facts.on('agent_changed', ({ agent_type }) => checkAgents(agent_type)),
  ]

  return {
    check,
    checkAgents,
    close(): void {
      clearInterval(checkTimer)
      clearTimeout(soon)
      clearInterval(orphanTimer)
      for (const stop of stops) stop()
    },
  }
}

/** What `events/` needs: when notices were opened and resolved. From memory. */
export function noticeEvents(notices: Pick<Notices, 'all'>) {
  const matching = ({ server_ids, since = 0, until = Number.MAX_SAFE_INTEGER, before }: Query) =>
    notices
      .all()
      .flatMap(eventsOf)
      .filter(({ ts }) => ts >= since && ts <= until)
      .filter(({ server_id }) => !server_ids || (server_id !== null && server_ids.includes(server_id)))
      .filter(({ ts, id }) => !before || ts < before.ts || (ts === before.ts && id < before.id))
      .sort((a, b) => b.ts - a.ts || b.id - a.id)
  return {
    page: async (query: Query) => matching(query).slice(0, query.limit),
    count: async (query: Query) => Math.min(query.limit, matching(query).length),
  }
}

interface Query {
  readonly server_ids: readonly string[] | undefined
  readonly since?: number
  readonly until?: number
  readonly before: { readonly ts: number; readonly id: number } | undefined
  readonly limit: number
}

/** Even ids for notices that were opened, odd ones for those that are resolved. */
function eventsOf(notice: Notice) {
  const { id, at, resolved_at, server_id, agent_type, text } = notice
  const data = viewOf(notice)
  const opened = { id: id * 2, ts: at, server_id, agent_type, text, data }
  if (resolved_at === null) return [opened]
  return [opened, { ...opened, id: id * 2 + 1, ts: resolved_at, text: `Resolved: ${text}` }]
}
