import type { FactBus } from '../kernel/facts.ts'
import type { ServerState } from '../kernel/server-state.ts'
import { isoTime } from '../kernel/time.ts'
import { LiveClient } from './client.ts'
import { Feed } from './feed.ts'
import { CLOSE, type LiveSocket } from './socket.ts'

/** What this room needs from the house. */
export interface Deps {
  readonly facts: FactBus
  readonly version: string
  /** The figures of the last minutes; asked once a second while somebody listens. */
  readonly summary: () => object
  /** Where every server is now. */
  readonly servers: () => object[]
  readonly now: () => number
  readonly clock?: () => number
}

const INTERVAL_MS = 1000
const HEARTBEAT_EVERY = 15
const MAX_CLIENTS = 256

/** The stream at /api/ws/metrics: everything that happens, to everybody who listens. */
export function createLive({ facts, version, summary, servers, now, clock = () => performance.now() }: Deps) {
  const feed = new Feed({ now, clock })
  const clients = new Set<LiveClient>()
  const listening = tellFacts(facts, feed)
  let ticks = 0
  let timer: NodeJS.Timeout | undefined

  const tick = () => {
    ticks += 1
    feed.publish('metrics', summary())
    if (ticks % HEARTBEAT_EVERY === 0) for (const client of clients) client.heartbeat()
  }

  return {
    /** False when there are as many as we take. */
    hasRoom: (): boolean => clients.size < MAX_CLIENTS,
    maxClients: MAX_CLIENTS,

    open(socket: LiveSocket): void {
      const snapshot = () => ({ summary: summary(), servers: servers() })
      const client = new LiveClient(socket, { feed, version, interval_ms: INTERVAL_MS, snapshot, now, clock })
      clients.add(client)
      timer ??= setInterval(tick, INTERVAL_MS)
      socket.onClose(() => {
        clients.delete(client)
        if (clients.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
    },

    close(): void {
      clearInterval(timer)
      for (const stop of listening) stop()
      for (const client of clients) client.close(CLOSE.goingAway, 'Toolroom is about to end')
    },
  }
}
export type Live = ReturnType<typeof createLive>

/** Facts become events. Numbers, names and what tools say of themselves: nothing that was said in a call, no value of any setting. */
function tellFacts(facts: FactBus, feed: Feed): (() => void)[] {
  const passOn = <
    K extends
      | 'call_started'
      | 'call_completed'
      | 'server_added'
      | 'server_updated'
      | 'server_removed'
      | 'tools_changed'
      | 'http_server_check',
  >(
    kind: K,
  ) => facts.on(kind, (fact) => feed.publish(kind, fact, fact.server_id))
  return [
    passOn('call_started'),
    passOn('call_completed'),
    passOn('server_added'),
    passOn('server_updated'),
    passOn('server_removed'),
    passOn('tools_changed'),
    passOn('http_server_check'),
    facts.on('package_progress', (fact) => feed.publish('package_progress', fact)),
    facts.on('agent_changed', (fact) => feed.publish('agent_changed', fact)),
    facts.on('server_resources', ({ server_id, resources }) => {
      if (feed.heard) feed.publish('server_resources', { server_id, ...resources }, server_id)
    }),
    facts.on('server_status', ({ server_id, state, cause }) =>
      feed.publish('server_status', { server_id, ...stateOf(state), cause }, server_id),
    ),
    facts.on('log', (entry) => {
      if (feed.heard) feed.publish('log', { ...entry, ts: isoTime(entry.ts) }, entry.server_id ?? null)
    }),
  ]
}

/** Times as everywhere on the wire. */
function stateOf(state: ServerState): object {
  switch (state.status) {
    case 'running':
      return { ...state, started_at: isoTime(state.started_at) }
    case 'backoff':
      return { ...state, next_retry_at: isoTime(state.next_retry_at) }
    case 'idle':
      return { ...state, since: isoTime(state.since) }
    case 'starting':
    case 'stopping':
    case 'stopped':
    case 'failed':
      return state
  }
}
