import type { FactBus } from '../../kernel/fact-bus.ts'
import type { Log } from '../../kernel/log.ts'
import type { AgentPromptsAndResources } from '../catalogue/agent-prompts-and-resources.ts'
import type { AgentToolLists } from '../catalogue/agent-tool-lists.ts'
import type { Conflict } from '../catalogue/tool-names.ts'
import { DropCounter } from '../sessions/event-stream.ts'
import type { AgentScope, Session, Sessions } from '../sessions/sessions.ts'
import { type ChangeNotifications, TOOLS_CHANGED } from './change-notifications.ts'
import type { Subscriptions } from './log-and-resource-subscriptions.ts'
import { type IsReceiver, subscriberOf } from './subscriber.ts'

interface Deps {
  readonly facts: FactBus
  readonly log: Pick<Log, 'warn'>
  readonly toolLists: AgentToolLists
  readonly catalogues: AgentPromptsAndResources
  readonly subscriptions: Subscriptions
  readonly sessions: Sessions
  readonly changeNotifications: ChangeNotifications
  readonly modernReplies: { close(keyId?: string): void }
  readonly rateLimit: NotificationRateLimit
  /** Whether prompts are held, so that also agents of a single server get them from its catalogue. */
  readonly holds: boolean
  /** Whether an agent may still use the server of its session or stream. */
  readonly hasServer: (scope: AgentScope) => boolean
}

/** One event often changes several lists, several times. */
const DEBOUNCE_MS = 100
/** A server that resets with every request gets its subscriptions again at most this often. */
const RESUBSCRIBE_MS = 2000
const MAX_CONFLICTS = 100
const PROMPTS_CHANGED = 'notifications/prompts/list_changed'
const LISTS_CHANGED = [PROMPTS_CHANGED, 'notifications/resources/list_changed']
const MESSAGE = 'notifications/message'
/** After these facts the gateway may offer other tools than before. */
const OFFER_CHANGED = [
  'tools_changed',
  'server_added',
  'server_updated',
  'server_removed',
  'server_desired',
] as const

/** Turns facts about servers into notifications to agents. Returns the function that stops it. */
export function startFanout(deps: Deps): () => void {
  const {
    facts,
    log,
    toolLists,
    catalogues,
    subscriptions,
    sessions,
    changeNotifications,
    modernReplies,
    rateLimit,
  } = deps
  let compareTimer: NodeJS.Timeout | undefined
  let reported: ReadonlySet<string> = new Set()
  let lastLists: ReturnType<typeof listsOf> | undefined
  const resubscribed = new Map<string, { again: boolean; readonly timer: NodeJS.Timeout }>()

  /** Ends sessions and streams of servers that their agent may no longer use. */
  const endInvisible = () => {
    const isInvisible = (scope: AgentScope) => !deps.hasServer(scope)
    for (const session of [...sessions.all]) if (isInvisible(session)) sessions.end(session)
    changeNotifications.end(isInvisible)
  }

  const toolsChanged = ({ server_id }: { readonly server_id: string }) => {
    toolLists.changed()
    changeNotifications.toolsChanged(sessions.all, server_id)
    endInvisible()
    listsMayHaveChanged()
  }

  /** Notifies all agents at `/mcp`, or only those of one type. */
  const listChanged = (method: string, type?: string) =>
    changeNotifications.changed(sessions.all, method, ({ serverId, agentType }) => {
      return serverId === undefined && (type === undefined || agentType === type)
    })

  const compareLists = () => {
    catalogues.changed()
    const lists = listsOf(catalogues)
    for (const kind of ['prompts', 'resources'] as const)
      if (!lastLists || !isSame(lastLists[kind], lists[kind]))
        listChanged(`notifications/${kind}/list_changed`)
    lastLists = lists
    const conflicts = [...toolLists.conflicts, ...catalogues.of().conflicts].slice(0, MAX_CONFLICTS)
    for (const conflict of conflicts)
      if (!reported.has(keyOf(conflict))) log.warn({ ...conflict }, 'not offered to agents')
    reported = new Set(conflicts.map(keyOf))
  }

  const listsMayHaveChanged = () => {
    catalogues.changed()
    clearTimeout(compareTimer)
    compareTimer = setTimeout(compareLists, DEBOUNCE_MS).unref()
  }

  const resubscribe = (serverId: string) => {
    const before = resubscribed.get(serverId)
    if (before) {
      before.again = true
      return
    }
    const timer = setTimeout(() => {
      const { again } = resubscribed.get(serverId) ?? {}
      resubscribed.delete(serverId)
      if (again) resubscribe(serverId)
    }, RESUBSCRIBE_MS).unref()
    resubscribed.set(serverId, { again: false, timer })
    subscriptions.serverStarted(serverId)
  }

  const stops = [
    ...OFFER_CHANGED.map((kind) => facts.on(kind, toolsChanged)),
    facts.on('lists_changed', ({ server_id, kinds }) => {
      listsMayHaveChanged()
      if (deps.holds && kinds.includes('prompts'))
        changeNotifications.changed(sessions.all, PROMPTS_CHANGED, ({ serverId }) => serverId === server_id)
    }),
    facts.on('server_removed', ({ server_id }) => {
      subscriptions.serverRemoved(server_id)
      rateLimit.forget(server_id)
    }),
    facts.on('server_note', ({ server_id, method, params, client_id, agent_type }) => {
      // Only a log message concerns the client alone whose request is pending.
      const only = method === MESSAGE ? client_id : undefined
      const isReceiver: IsReceiver = ({ clientId, agentType }) =>
        (only === undefined || clientId === only) && (agent_type === undefined || agentType === agent_type)
      if (!rateLimit.take(server_id)) return
      if (subscriptions.deliver(server_id, method, params, isReceiver)) return
      const receivers = method === MESSAGE ? withoutLogLevel(sessions.all, subscriptions) : sessions.all
      changeNotifications.forward(receivers, server_id, method, params, isReceiver)
    }),
    facts.on('server_status', ({ server_id, state }) => {
      if (state.status === 'running') subscriptions.serverStarted(server_id)
    }),
    facts.on('http_server_connected', ({ server_id }) => resubscribe(server_id)),
    facts.on('agent_tools_changed', ({ agent_type }) => {
      const seesOtherTools = toolLists.settingsChanged(agent_type)
      for (const method of LISTS_CHANGED) listChanged(method, agent_type)
      changeNotifications.changed(
        sessions.all,
        TOOLS_CHANGED,
        ({ agentType, serverId }) => agentType === agent_type && seesOtherTools(serverId),
      )
      endInvisible()
    }),
    facts.on('audited', ({ action, subject }) => {
      if (action !== 'key_removed') return
      sessions.close(subject)
      changeNotifications.end(({ keyId }) => keyId === subject)
      modernReplies.close(subject)
    }),
  ]
  return () => {
    clearTimeout(compareTimer)
    for (const { timer } of resubscribed.values()) clearTimeout(timer)
    for (const stop of stops) stop()
  }
}

function listsOf(
  catalogues: AgentPromptsAndResources,
): Record<'prompts' | 'resources', (Buffer | undefined)[]> {
  const { lists } = catalogues.of()
  const bodies = (...methods: string[]) => methods.map((method) => lists[method]?.legacy)
  return { prompts: bodies('prompts/list'), resources: bodies('resources/list', 'resources/templates/list') }
}

const keyOf = ({ server_id, kind, name }: Conflict): string => JSON.stringify([server_id, kind, name])

const isSame = (before: readonly (Buffer | undefined)[], after: readonly (Buffer | undefined)[]): boolean =>
  after.every((body, at) =>
    body === undefined ? before[at] === undefined : before[at]?.equals(body) === true,
  )

/** Sessions that have not set a log level get what the server sends. */
function* withoutLogLevel(sessions: Iterable<Session>, { hasLogLevel }: Subscriptions) {
  for (const session of sessions) if (!hasLogLevel(subscriberOf(session))) yield session
}

const PER_SECOND = 1000
const REPORT_MS = 1000

interface Bucket {
  left: number
  filledAt: number
  readonly drops: DropCounter
}

/** Limits the notifications of each server, because every one of them is sent to all subscribers. */
export class NotificationRateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #now: () => number
  readonly #onDropped: (serverId: string, count: number) => void

  /** `now` must be monotonic. */
  constructor(now: () => number, onDropped: (serverId: string, count: number) => void) {
    this.#now = now
    this.#onDropped = onDropped
  }

  /** False when the limit is reached. */
  take(serverId: string): boolean {
    const bucket = this.#bucket(serverId)
    const now = this.#now()
    bucket.left = Math.min(PER_SECOND, bucket.left + ((now - bucket.filledAt) * PER_SECOND) / 1000)
    bucket.filledAt = now
    if (bucket.left >= 1) {
      bucket.left -= 1
      return true
    }
    bucket.drops.add()
    return false
  }

  forget(serverId: string): void {
    this.#buckets.delete(serverId)
  }

  #bucket(serverId: string): Bucket {
    let bucket = this.#buckets.get(serverId)
    if (!bucket) {
      const drops = new DropCounter((count) => this.#onDropped(serverId, count), REPORT_MS)
      bucket = { left: PER_SECOND, filledAt: this.#now(), drops }
      this.#buckets.set(serverId, bucket)
    }
    return bucket
  }
}
