import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { maskText } from '../../../kernel/secrets/mask-secrets.ts'
import { printableLine } from '../../../kernel/secrets/strip-terminal-codes.ts'
import { MEBIBYTE, RemoteFailure, tooLarge } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { JsonRpcPeer, type Outgoing, type PeerEvents } from '../../client/json-rpc-peer.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { type RemoteError, readMessage, remoteErrorOf } from '../../protocol/json-rpc-message.ts'
import { MESSAGE_MAX_BYTES } from '../../protocol/line-splitter.ts'
import { EventTooLargeError, type SseReader } from '../../protocol/sse-reader.ts'
import { statusFailure } from './status-failure.ts'

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

const EVENT_STREAM = 'text/event-stream'
const ERROR_MAX_BYTES = 64 * 1024
const MAX_QUOTE_CHARS = 200
const HANDSHAKE_MAX_BYTES = MEBIBYTE

/** The size limit of a response. It is lower for the handshake, before the server is known to be MCP. */
export function responseLimit(method: string): number {
  return method === 'initialize' || method === 'server/discover' ? HANDSHAKE_MAX_BYTES : MESSAGE_MAX_BYTES
}

export const isEventStream = ({ contentType }: HttpResponse): boolean => contentType === EVENT_STREAM

/** Reads a JSON body, which must be the response to the request with this id. */
export async function receiveBody(
  response: HttpResponse,
  peer: JsonRpcPeer,
  id: number,
  maxBytes: number,
): Promise<void> {
  if (!isJson(response)) {
    response.discard()
    throw notMcp(response)
  }
  const bytes = await response.read(maxBytes)
  if (!peer.receive({ bytes, cut: 0, borrowed: false })) throw notMcp(response)
  if (!peer.isPending(id)) return
  const remote = remoteErrorOfBody(bytes) // an error without the id of the request
  if (remote) throw new CallFailure('remote', remote.message, remote)
  throw noResult(response.url.host)
}

/** Reads events until the stream ends. */
export async function receiveEvents(
  response: HttpResponse,
  reader: SseReader,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { host } = response.url
  let bytes = 0
  for await (const chunk of response.chunks()) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(host, 'The stream', maxBytes)
    try {
      reader.push(chunk)
    } catch (error) {
      throw error instanceof EventTooLargeError ? tooLarge(host, 'An event', reader.maxBytes) : error
    }
  }
}

/** The failure that an error status means: the JSON-RPC error in the body, unless the status is more specific. */
export async function failureOf(response: HttpResponse, secrets: KnownSecrets): Promise<Error> {
  const { status, headers, url } = response
  const remote = await remoteErrorIn(response)
  if (remote && ![401, 403, 429, 503].includes(status)) {
    return new CallFailure('remote', remote.message, remote)
  }
  const quote = remote && printableLine(maskText(secrets.redact(remote.message)), MAX_QUOTE_CHARS)
  return statusFailure({ host: url.host, status, headers, quote })
}

async function remoteErrorIn(response: HttpResponse) {
  if (!isJson(response)) {
    response.discard()
    return undefined
  }
  const bytes = await response.read(ERROR_MAX_BYTES).catch(() => undefined) // the status is enough
  return bytes && remoteErrorOfBody(bytes)
}

function remoteErrorOfBody(bytes: Buffer): RemoteError | undefined {
  const message = readMessage(bytes)
  return message?.error === undefined ? undefined : remoteErrorOf(message, bytes)
}

/** A response without a type is read as JSON. */
function isJson({ contentType }: HttpResponse): boolean {
  return contentType === '' || contentType === 'application/json' || contentType.endsWith('+json')
}

export function notMcp({ contentType, status, url }: HttpResponse): RemoteFailure {
  const isEmpty = contentType === '' || status === 202 || status === 204
  const type = /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(contentType) ? contentType : 'an unknown content type'
  const what = contentType === 'text/html' ? 'a web page' : isEmpty ? 'no MCP message' : type
  const hint = 'Check the URL: it must be the MCP endpoint itself, often /mcp, not a page about it'
  return new RemoteFailure('not_mcp', `${url.host} answered with ${what} instead of MCP`, hint, { status })
}

export function noResult(host: string): RemoteFailure {
  const hint = "Check the server's log. A proxy in front of it must not buffer responses"
  return new RemoteFailure('protocol_error', `${host} ended its response without a result`, hint)
}

export function sessionLost(host: string): RemoteFailure {
  const hint = 'Connect again. If several instances run behind this address, they must share their sessions'
  return new RemoteFailure('session_lost', `${host} no longer has this session`, hint, { status: 404 })
}
