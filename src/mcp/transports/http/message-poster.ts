import type { HttpResponse } from '../../../net/http-response.ts'
import { JsonRpcPeer, type Outgoing, type PeerEvents } from '../../client/json-rpc-peer.ts'
import { CallFailure } from '../../protocol/call.ts'

interface Options {
  readonly events: PeerEvents
  /** Sends a request and receives its response. A rejection fails the request. */
  readonly request: (
    body: string | Buffer,
    message: Outgoing,
    id: number,
    signal: AbortSignal,
  ) => Promise<void>
  /** Sends a notification or a response. */
  readonly notify: (body: string, timeoutMs: number) => Promise<HttpResponse>
  /** Whether the server accepts notifications and responses. */
  readonly acceptsNotifications?: () => boolean
}

const NOTIFY_MS = 10_000
const MAX_NOTIFYING = 64

/** Sends the messages of one connection, each as a POST of its own. */
export class MessagePoster {
  readonly #options: Options
  readonly #open = new Map<number, AbortController>()
  #notifying = 0
  readonly peer: JsonRpcPeer

  constructor(options: Options) {
    this.#options = options
    this.peer = new JsonRpcPeer({
      sender: {
        send: (text, message) => this.#send(text, message),
        sendParts: (head, middle, tail, message) =>
          this.#send(Buffer.concat([Buffer.from(head), middle, Buffer.from(tail)]), message),
        abandon: (id) => this.#open.get(id)?.abort(new CallFailure('cancelled', 'The request was cancelled')),
      },
      ...options.events,
    })
  }

  /** Resolves when the server has accepted it, because servers reject requests that arrive earlier. */
  notifyInitialized(timeoutMs: number): Promise<void> {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return this.#notify(body, Math.min(NOTIFY_MS, timeoutMs))
  }

  close(reason: string): void {
    this.peer.close(reason)
    for (const request of this.#open.values()) request.abort(new CallFailure('closed', reason))
  }

  #send(body: string | Buffer, message: Outgoing): void {
    if (typeof message.id === 'number' && message.method !== undefined) {
      void this.#request(body, message, message.id)
    } else if (this.#notifying < MAX_NOTIFYING && this.#options.acceptsNotifications?.() !== false) {
      void this.#notify(String(body), NOTIFY_MS)
    }
  }

  /** Never rejects: a failure goes to the peer. */
  async #request(body: string | Buffer, message: Outgoing, id: number): Promise<void> {
    const request = new AbortController()
    this.#open.set(id, request)
    try {
      await this.#options.request(body, message, id, request.signal)
    } catch (error) {
      this.peer.fail(id, error as Error)
    } finally {
      this.#open.delete(id)
    }
  }

  /** Never rejects: if the server is not reachable, the next request fails as well. */
  async #notify(body: string, timeoutMs: number): Promise<void> {
    this.#notifying += 1
    await this.#options
      .notify(body, timeoutMs)
      .then((response) => response.discard())
      .catch(() => {})
    this.#notifying -= 1
  }
}
