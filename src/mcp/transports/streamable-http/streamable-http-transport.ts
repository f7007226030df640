import { isObject } from '../../../kernel/json/json-checks.ts'
import { within } from '../../../kernel/time-limit.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { discover, type HandshakeResult, initialize } from '../../client/handshake.ts'
import type { JsonRpcPeer, Outgoing } from '../../client/json-rpc-peer.ts'
import type { ToolList } from '../../client/server-lists.ts'
import type { HttpTransportOptions, Transport } from '../../client/transport.ts'
import { type Era, MODERN_VERSION } from '../../protocol/mcp-constants.ts'
import {
  headerText,
  type MirroredArgument,
  mirroredArguments,
  nameParamOf,
} from '../../protocol/mcp-headers.ts'
import { memberOf, plainOf } from '../../protocol/raw-json.ts'
import {
  failureOf,
  isEventStream,
  MessagePoster,
  receiveBody,
  responseLimit,
  sessionLost,
} from '../http/message-poster.ts'
import { NotificationStream } from './notification-stream.ts'
import { receiveResponseStream } from './response-stream.ts'

/** An error status, for the caller to judge. */
interface Rejected {
  readonly status: number
  readonly error: Error
}

const REINITIALIZE_MS = 10_000
/** Some servers send the headers of the notification stream only with the first notification. */
const LISTENING_WITHIN_MS = 1000
/** Methods whose response may start as late as it ends. */
const SLOW = ['tools/call', 'resources/read', 'prompts/get', 'completion/complete', 'subscriptions/listen']
const POST_HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
}

/** Streamable HTTP in both eras: each message is a POST, and its response carries the messages of the server. */
export class StreamableHttpTransport implements Transport {
  readonly kind = 'streamable_http'
  readonly #options: HttpTransportOptions
  readonly #poster: MessagePoster
  readonly #session = new SessionHeaders()
  #era: Era = 'legacy'
  #reinitializing: Promise<void> | undefined
  #notifications: NotificationStream | undefined
  #listening: Promise<unknown> | undefined
  #mirrors: Mirrors = new Map()
  #closed = false

  constructor(options: HttpTransportOptions) {
    this.#options = options
    this.#poster = new MessagePoster({
      events: options,
      request: (body, message, id, signal) => this.#request(body, message, id, signal),
      notify: (body, timeoutMs) => this.#notify(body, timeoutMs),
      // The modern era has neither responses of the client nor cancel notifications: closing the stream cancels.
      acceptsNotifications: () => this.#era === 'legacy',
    })
  }

  get peer(): JsonRpcPeer {
    return this.#poster.peer
  }

  /** The modern handshake. Rejects when the server does not support that era. */
  discover(timeoutMs: number): Promise<HandshakeResult> {
    this.#era = 'modern'
    return discover(this.peer, this.#options.version, timeoutMs)
  }

  async initialize(timeoutMs: number): Promise<HandshakeResult> {
    const deadline = performance.now() + timeoutMs
    this.#era = 'legacy'
    const handshake = await initialize(this.peer, this.#options.version, timeoutMs)
    this.#session.protocol = handshake.protocol_version
    await this.#poster.notifyInitialized(deadline - performance.now())
    return handshake
  }

  readonly listen = async (): Promise<void> => {
    if (this.#era === 'legacy' && !this.#notifications) this.#openNotifications()
    await this.#listening
  }

  onTools(list: ToolList): void {
    this.#mirrors = mirrorsIn(list)
  }

  async close(timeoutMs: number): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#notifications?.close()
    this.#poster.close('The connection was closed')
    if (this.#session.id === undefined || timeoutMs <= 0) return
    const { client, url } = this.#options
    const { headers } = this.#session
    const deletion = client.request({ method: 'DELETE', url, headers, timeoutMs })
    await deletion.then((response) => response.discard()).catch(() => {}) // an unused session expires anyway
  }

  async #request(body: string | Buffer, message: Outgoing, id: number, signal: AbortSignal): Promise<void> {
    const isInitialize = message.method === 'initialize'
    if (!isInitialize) await this.#reinitializing
    const session = isInitialize ? undefined : this.#session.id
    const rejected = await this.#exchange(body, message, id, signal)
    if (!rejected) return
    if (session === undefined || !mayBeLost(rejected.status)) throw rejected.error
    await this.#reinitialize(session)
    const again = await this.#exchange(body, message, id, signal)
    if (again) throw again.status === 404 ? sessionLost(this.#options.url.host) : again.error
  }

  async #exchange(
    body: string | Buffer,
    message: Outgoing,
    id: number,
    signal: AbortSignal,
  ): Promise<Rejected | undefined> {
    const { client, url, secrets } = this.#options
    const { method = '' } = message
    const response = await client.request({
      method: 'POST',
      url,
      headers: { ...POST_HEADERS, ...this.#headersFor(message) },
      body,
      timeoutMs: null,
      ...(SLOW.includes(method) && { firstByteMs: null }),
      signal,
      repeatable: method !== 'tools/call',
    })
    if (response.status < 200 || response.status > 299) {
      return { status: response.status, error: await failureOf(response, secrets) }
    }
    if (method === 'initialize') this.#session.begin(response)
    const maxBytes = responseLimit(method)
    if (!isEventStream(response)) {
      await receiveBody(response, this.peer, id, maxBytes)
      return undefined
    }
    await receiveResponseStream(response, {
      peer: this.peer,
      id,
      maxBytes,
      ...(method === 'subscriptions/listen' && { streamMaxBytes: Number.POSITIVE_INFINITY }),
      signal,
      resume: this.#era === 'modern' ? undefined : (lastEventId) => this.#stream(lastEventId, signal),
    })
    return undefined
  }

  #notify(body: string, timeoutMs: number): Promise<HttpResponse> {
    const { client, url } = this.#options
    const headers = { ...POST_HEADERS, ...this.#session.headers }
    return client.request({ method: 'POST', url, headers, body, timeoutMs, repeatable: true })
  }

  /** The server has lost the session. Repeats the handshake, once for all requests that failed for it. */
  async #reinitialize(lost: string): Promise<void> {
    if (this.#session.id !== lost) return
    this.#reinitializing ??= this.initialize(REINITIALIZE_MS)
      .then(
        async () => {
          this.#options.onReset()
          if (this.#notifications) this.#openNotifications()
          await this.#listening
        },
        (error: unknown) => {
          this.#session.id = lost
          throw error
        },
      )
      .finally(() => {
        this.#reinitializing = undefined
      })
    await this.#reinitializing
  }

  #openNotifications(): void {
    this.#notifications?.close()
    if (this.#closed) return
    this.#notifications = new NotificationStream({
      open: (lastEventId, signal) => this.#stream(lastEventId, signal),
      onEvent: ({ data }) => void this.peer.receive({ bytes: data, cut: 0, borrowed: false }),
      onGap: this.#options.onReset,
    })
    this.#listening = within(this.#notifications.answered, LISTENING_WITHIN_MS)
  }

  #stream(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpResponse> {
    const { client, url } = this.#options
    const headers = {
      accept: 'text/event-stream',
      'cache-control': 'no-cache',
      ...this.#session.headers,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    return client.request({ method: 'GET', url, headers, timeoutMs: null, firstByteMs: null, signal })
  }

  #headersFor(message: Outgoing): Record<string, string> {
    if (this.#era === 'modern') return mirroredHeaders(message, this.#mirrors)
    return message.method === 'initialize' ? {} : this.#session.headers
  }
}

/** The mirrored arguments of each tool that has any. */
type Mirrors = ReadonlyMap<string, readonly MirroredArgument[]>

/** The headers in which the modern era repeats parts of a request, so that proxies need not read bodies. */
export function mirroredHeaders({ method = '', params }: Outgoing, mirrors: Mirrors): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method }
  const given = isObject(params) ? params : {}
  const name = given[nameParamOf(method) ?? '']
  if (typeof name !== 'string') return headers
  headers['mcp-name'] = headerText(name)
  if (method !== 'tools/call') return headers
  for (const { header, path } of mirrors.get(name) ?? []) {
    const text = primitiveText(path.reduce(memberOf, given.arguments))
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = headerText(text)
  }
  return headers
}

/** The arguments that a tool list declares as mirrored. Invalid declarations are ignored. */
export function mirrorsIn({ tools }: ToolList): Mirrors {
  const found = tools.map(({ name, inputSchema }) => [String(name), mirroredArguments(inputSchema)] as const)
  return new Map(found.filter(([, mirrored]) => mirrored.length > 0))
}

function primitiveText(json: unknown): string | undefined {
  const value = plainOf(json)
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

/** The session with a legacy server. Not every server uses sessions. */
class SessionHeaders {
  id: string | undefined
  protocol: string | undefined

  /** The headers of every request but the first. */
  get headers(): Record<string, string> {
    return {
      ...(this.id !== undefined && { 'mcp-session-id': this.id }),
      ...(this.protocol !== undefined && { 'mcp-protocol-version': this.protocol }),
    }
  }

  /** Takes the id from the response to `initialize`. */
  begin({ headers }: HttpResponse): void {
    const id = headers['mcp-session-id']
    this.id = typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : undefined
  }
}

/** Servers answer an unknown session with either status. */
function mayBeLost(status: number): boolean {
  return status === 404 || status === 400
}
