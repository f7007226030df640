import { RemoteFailure, timeoutFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import type { HandshakeResult } from '../../client/handshake.ts'
import { initialize } from '../../client/handshake.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import type { HttpTransportOptions, Transport } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { SseReader } from '../../protocol/sse-reader.ts'
import {
  failureOf,
  isEventStream,
  MessagePoster,
  notMcp,
  receiveEvents,
  sessionLost,
} from '../http/message-poster.ts'

interface Options extends HttpTransportOptions {
  /** The time limit for the first event, which has the message endpoint. */
  readonly endpointMs: number
}

/** HTTP+SSE of 2024-11-05: one stream for all messages of the server, and an endpoint to POST ours to. */
export class SseTransport implements Transport {
  readonly kind = 'sse'
  readonly #options: Options
  readonly #poster: MessagePoster
  readonly #end = new AbortController()
  #endpoint: URL | undefined
  #lost: Error | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
    this.#poster = new MessagePoster({
      events: options,
      request: (body, _, id, signal) => this.#request(body, id, signal),
      notify: (body, timeoutMs) => this.#post(body, timeoutMs),
    })
  }

  get peer(): JsonRpcPeer {
    return this.#poster.peer
  }

  async initialize(timeoutMs: number): Promise<HandshakeResult> {
    const deadline = performance.now() + timeoutMs
    const left = () => Math.max(1, deadline - performance.now())
    this.#endpoint = await this.#connect(Math.min(timeoutMs, this.#options.endpointMs))
    const handshake = await initialize(this.peer, this.#options.version, left()).catch((error: unknown) => {
      throw this.#lost ?? error
    })
    await this.#poster.notifyInitialized(left())
    return handshake
  }

  async close(): Promise<void> {
    this.#close('The connection was closed')
  }

  /** Opens the stream and waits for its first event, which has the message endpoint. */
  async #connect(timeoutMs: number): Promise<URL> {
    const { client, url, secrets } = this.#options
    const deadline = performance.now() + timeoutMs
    const response = await client.request({
      method: 'GET',
      url,
      headers: { accept: 'text/event-stream', 'cache-control': 'no-cache' },
      timeoutMs: null,
      firstByteMs: timeoutMs,
      signal: this.#end.signal,
    })
    if (response.status !== 200) throw await failureOf(response, secrets)
    if (!isEventStream(response)) {
      response.discard()
      throw notMcp(response)
    }
    return new Promise((resolve, reject) => {
      const onTimeout = () => response.end(timeoutFailure(url.host, 'send its message endpoint', timeoutMs))
      const timer = setTimeout(onTimeout, Math.max(1, deadline - performance.now()))
      const onEndpoint = (data: Buffer) => {
        clearTimeout(timer)
        const endpoint = endpointIn(data, url)
        if (endpoint instanceof RemoteFailure) response.end(endpoint)
        else resolve(endpoint)
      }
      void this.#receive(response, onEndpoint).then((error) => {
        clearTimeout(timer)
        reject(error) // no effect once the endpoint is known
        this.#lose(error)
      })
    })
  }

  /** Resolves with the reason when the stream has ended. Never rejects. */
  async #receive(response: HttpResponse, onEndpoint: (data: Buffer) => void): Promise<Error> {
    const reader = new SseReader(({ event, data }) => {
      if (event === 'endpoint' && this.#endpoint === undefined) onEndpoint(data)
      else if (event === 'message') this.peer.receive({ bytes: data, cut: 0, borrowed: false })
    })
    const error = await receiveEvents(response, reader).catch((cause: Error) => cause)
    if (error) return error
    const hint = "Check the server's log. A proxy in front of it may close idle streams"
    return new RemoteFailure('connection_reset', `${response.url.host} closed its stream`, hint)
  }

  /** The response arrives in the stream. */
  async #request(body: string | Buffer, id: number, signal: AbortSignal): Promise<void> {
    const response = await this.#post(body, null, signal)
    if (response.status >= 200 && response.status < 300) return response.discard()
    const failure = await failureOf(response, this.#options.secrets)
    if (response.status !== 404) throw failure
    const lost = sessionLost(response.url.host)
    this.peer.fail(id, lost)
    this.#lose(lost)
  }

  #post(body: string | Buffer, timeoutMs: number | null, signal?: AbortSignal): Promise<HttpResponse> {
    const { client, url } = this.#options
    const headers = { 'content-type': 'application/json', accept: '*/*' }
    const to = this.#endpoint ?? url
    return client.request({ method: 'POST', url: to, headers, body, timeoutMs, firstByteMs: null, signal })
  }

  #lose(reason: Error): void {
    if (this.#closed) return
    this.#lost = reason
    this.#close(reason.message)
    this.#options.onLost(reason.message)
  }

  #close(reason: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#poster.close(reason)
    this.#end.abort(new CallFailure('closed', reason))
  }
}

const MAX_ENDPOINT_BYTES = 8192

function endpointIn(data: Buffer, url: URL): URL | RemoteFailure {
  const text = data.toString('utf8', 0, MAX_ENDPOINT_BYTES).trim()
  if (data.length > MAX_ENDPOINT_BYTES || !URL.canParse(text, url.href)) {
    const hint = 'Check that the URL is the SSE endpoint of an MCP server'
    return new RemoteFailure('protocol_error', `${url.host} did not send a valid message endpoint`, hint)
  }
  const endpoint = new URL(text, url)
  if (endpoint.origin === url.origin) return endpoint
  const message = `${url.host} sent a message endpoint at another origin, which must not receive this server's headers`
  const hint = "Correct the public address in the server's settings"
  return new RemoteFailure('redirect_refused', message, hint)
}
