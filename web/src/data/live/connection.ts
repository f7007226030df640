import { currentSession } from '../session.ts'
import type { LiveMessage, LogFilter } from './live-messages.ts'

/** The one WebSocket of the tab. It connects again by itself; nothing else in the dashboard opens one. */

export type LiveState =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** The service answers, but its data needs the token (PROTECT_READS). */
  | { readonly state: 'locked' }
  | { readonly state: 'gone'; readonly retryAt: number; readonly since: number }

interface Options {
  readonly onMessage: (message: LiveMessage) => void
  /** The newest event when the page was made. What was read since may miss the next ones, so they are asked for. */
  readonly lastEvent: number
  /** Events may have been missed: whatever was read earlier may be outdated. */
  readonly onGap: () => void
  readonly onState: (state: LiveState) => void
}

const RETRY_AFTER_S = [1, 2, 3, 5]
/** The service sends a message every second. A connection that is silent for longer is dead, for example after sleep. */
const SILENT_MS = 10_000

export class LiveConnection {
  readonly #options: Options
  #socket: WebSocket | undefined
  #failures = 0
  #heardAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #log: LogFilter | undefined
  #isFirst = true

  constructor(options: Options) {
    this.#options = options
    setInterval(() => this.#checkSilence(), 2000)
    document.addEventListener('visibilitychange', () => this.#checkSilence())
    addEventListener('online', () => this.retry())
  }

  /** Connects now, or again: with another token, or because the user does not want to wait. */
  retry(): void {
    clearTimeout(this.#timer)
    this.#drop()
    this.#connect()
  }

  /** Subscribes to log lines, or ends the subscription. Kept over reconnects. */
  followLog(filter: LogFilter | undefined): void {
    this.#log = filter
    if (this.#socket?.readyState === WebSocket.OPEN) this.#sendLogFilter(this.#socket)
  }

  #connect(): void {
    const { token } = currentSession()
    const url = `${location.origin.replace(/^http/, 'ws')}/api/ws/metrics`
    const socket = new WebSocket(url, token === undefined ? [] : [`toolroom.${token}`])
    this.#socket = socket
    this.#heardAt = performance.now()
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      this.#heardAt = performance.now()
      const message = JSON.parse(data) as LiveMessage
      if (message.type === 'snapshot') this.#connected(socket)
      this.#options.onMessage(message)
    }
    socket.onclose = () => {
      if (socket === this.#socket) this.#lost()
    }
  }

  #connected(socket: WebSocket): void {
    this.#failures = 0
    const { lastEvent, onGap, onState } = this.#options
    // Nothing before the page needs to be told. If the events since then are no longer kept, another snapshot comes.
    if (this.#isFirst) socket.send(JSON.stringify({ type: 'resume', last_event: lastEvent }))
    else onGap()
    this.#isFirst = false
    onState({ state: 'live' })
    if (this.#log) this.#sendLogFilter(socket)
  }

  #lost(): void {
    this.#drop()
    this.#isFirst = false
    const delayS = RETRY_AFTER_S[Math.min(this.#failures, RETRY_AFTER_S.length - 1)] ?? 5
    this.#failures += 1
    const now = Date.now()
    this.#options.onState({ state: 'gone', retryAt: now + delayS * 1000, since: now })
    this.#timer = setTimeout(() => this.#connect(), delayS * 1000)
    void this.#findLock()
  }

  /** A refused upgrade looks like a missing service. A read that is refused for want of the token tells them apart. */
  async #findLock(): Promise<void> {
    if (currentSession().token !== undefined) return
    const servers = await fetch('/api/servers', { method: 'HEAD' }).catch(() => undefined)
    if (servers?.status !== 401) return
    clearTimeout(this.#timer)
    this.#options.onState({ state: 'locked' })
  }

  #checkSilence(): void {
    const isOpen = this.#socket?.readyState === WebSocket.OPEN
    if (isOpen && performance.now() - this.#heardAt > SILENT_MS) this.#lost()
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
  }

  #sendLogFilter(socket: WebSocket): void {
    if (!this.#log) {
      socket.send(JSON.stringify({ type: 'unsubscribe', topics: ['log'] }))
      return
    }
    const { server_ids, ...filter } = this.#log
    socket.send(
      JSON.stringify({
        type: 'subscribe',
        topics: ['log'],
        batch: true,
        ...(server_ids && { server_ids }),
        filter,
      }),
    )
  }
}
