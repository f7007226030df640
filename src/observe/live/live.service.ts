import type { FactBus } from '../../kernel/fact-bus.ts'
import { isoTime } from '../../kernel/time.ts'
import type { problemIn } from '../../kernel/validate.ts'
import { Feed, publishFacts } from './event-feed.ts'
import { CLOSE, LiveClient, type LiveSocket } from './live-client.ts'

/** Provided by `compose/observe.ts`. */
export interface Deps {
  readonly facts: FactBus
  readonly version: string
  /** The home folder of the user, for clients that show paths with `~`. */
  readonly home: string
  /** The metrics of the last minutes. Called once a second while a client is connected. */
  readonly summary: () => object
  /** The current status of every server. */
  readonly servers: () => object[]
  readonly now: () => number
  readonly clock?: () => number
}

const INTERVAL_MS = 1000
const HEARTBEAT_EVERY = 15
const MAX_CLIENTS = 256

/** The event stream at /api/ws/metrics. */
export function createLive({ facts, summary, servers, now, clock = () => performance.now(), ...self }: Deps) {
  const feed = new Feed({ now, clock })
  const clients = new Set<LiveClient>()
  const subscriptions = publishFacts(facts, feed)
  let ticks = 0
  let timer: NodeJS.Timeout | undefined
  /** Only while a client is connected: without a listener, log lines are not published. */
  let stopLog: (() => void) | undefined

  const tick = () => {
    ticks += 1
    feed.publish('metrics', summary())
    if (ticks % HEARTBEAT_EVERY === 0) for (const client of clients) client.heartbeat()
  }

  return {
    hasClients: (): boolean => clients.size > 0,
    /** False when the maximum number of clients is connected. */
    hasRoom: (): boolean => clients.size < MAX_CLIENTS,
    maxClients: MAX_CLIENTS,
    /** The number of the newest event. A client that knows it can ask for what happened since (`resume`). */
    lastEvent: (): number => feed.last,

    open(socket: LiveSocket, problemOf: typeof problemIn): void {
      const snapshot = () => ({ summary: summary(), servers: servers() })
      const checks = { now, clock, problemIn: problemOf }
      const client = new LiveClient(socket, { feed, interval_ms: INTERVAL_MS, snapshot, ...checks, ...self })
      clients.add(client)
      timer ??= setInterval(tick, INTERVAL_MS)
      stopLog ??= facts.on('log', (line) =>
        feed.publish('log', { ...line, ts: isoTime(line.ts) }, line.server_id),
      )
      socket.onClose(() => {
        clients.delete(client)
        if (clients.size > 0) return
        clearInterval(timer)
        timer = undefined
        stopLog?.()
        stopLog = undefined
      })
    },

    /** Clients may connect again. */
    disconnect(reason: string): void {
      for (const client of clients) client.close(CLOSE.goingAway, reason)
    },

    close(): void {
      clearInterval(timer)
      for (const stop of subscriptions) stop()
      stopLog?.()
      for (const client of clients) client.close(CLOSE.goingAway, 'Toolroom is shutting down')
    },
  }
}
export type Live = ReturnType<typeof createLive>
