import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import type { HttpClient } from '../../../net/http-client.ts'
import { RemoteFailure, timeoutFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { CallFailure } from '../../../protocol/call.ts'
import { SseReader } from '../../../protocol/sse-reader.ts'
import type { Greeting } from '../../client/greeting.ts'
import { Dialogue, type Outgoing } from '../../client/json-rpc-peer.ts'
import { initialize } from '../../client/legacy-handshake.ts'
import type { Asker } from '../../client/modern-requests.ts'
import { CAPABILITIES } from '../../client/server-requests.ts'
import { hearEvents, isEventStream, notMcp, refusalIn } from '../http/response-messages.ts'
import { ACCEPT_STREAM, type Carrier, type CarrierEvents, JSON_TYPE, TELL_MS } from '../http/transport.ts'
import { sessionLost } from '../streamable-http/http-session.ts'

interface Options extends CarrierEvents {
  readonly client: HttpClient
  readonly url: URL
  readonly version: string
  readonly secrets: KnownSecrets
  /** How long a stream may be silent before it says where to send messages. */
  readonly endpointMs: number
}

const MAX_TELLING = 64

/** HTTP+SSE of 2024-11-05: one stream for all that the server says, and an address for all that we say. */
export class SseTransport implements Carrier {
  readonly transport = 'sse'
  readonly #options: Options
  readonly #dialogue: Dialogue
  readonly #end = new AbortController()
  readonly #open = new Map<number, AbortController>()
  #endpoint: URL | undefined
  #telling = 0
  #lost: Error | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
    this.#dialogue = new Dialogue({
      wire: {
        send: (text, message) => this.#send(text, message),
        forget: (id) => this.#open.get(id)?.abort(new CallFailure('cancelled', 'Nobody waits any longer')),
      },
      onNotification: options.onNotification,
    })
  }

  get asker(): Asker {
    return this.#dialogue
  }

  get plain(): Asker {
    return this.#dialogue
  }

  async initialize(timeoutMs: number): Promise<Greeting> {
    const deadline = performance.now() + timeoutMs
    const left = () => Math.max(1, deadline - performance.now())
    this.#endpoint = await this.#connect(Math.min(timeoutMs, this.#options.endpointMs))
    const request: Dialogue['request'] = (...question) => this.#dialogue.request(...question)
    const { version } = this.#options
    const greeting = await initialize({ request, notify: () => {} }, version, left(), CAPABILITIES).catch(
      (error: unknown) => {
        throw this.#lost ?? error
      },
    )
    await this.#tell(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), left())
    return greeting
  }

  async listen(): Promise<void> {} // everything comes in the one stream

  knows(): void {} // nothing of it is needed

  async close(): Promise<void> {
    this.#close('The connection was closed')
  }

  /** Opens the stream and waits for the address that it begins with. */
  async #connect(timeoutMs: number): Promise<URL> {
    const { client, url, secrets } = this.#options
    const deadline = performance.now() + timeoutMs
    const answer = await client.request({
      method: 'GET',
      url,
      headers: ACCEPT_STREAM,
      timeoutMs: null,
      firstByteMs: timeoutMs,
      signal: this.#end.signal,
    })
    if (answer.status !== 200) throw await refusalIn(answer, secrets)
    if (!isEventStream(answer)) {
      answer.discard()
      throw notMcp(answer)
    }
    return new Promise((resolve, reject) => {
      const silent = () => answer.end(timeoutFailure(url.host, 'say where messages go', timeoutMs))
      const timer = setTimeout(silent, Math.max(1, deadline - performance.now()))
      const found = (data: Buffer) => {
        clearTimeout(timer)
        const endpoint = endpointIn(data, url)
        if (endpoint instanceof RemoteFailure) answer.end(endpoint)
        else resolve(endpoint)
      }
      void this.#hear(answer, found).then((error) => {
        clearTimeout(timer)
        reject(error) // without effect once the address is known
        this.#lose(error)
      })
    })
  }

  /** Gives the reason when the stream has ended. Never rejects. */
  async #hear(answer: HttpResponse, onEndpoint: (data: Buffer) => void): Promise<Error> {
    const reader = new SseReader(({ event, data }) => {
      if (event === 'endpoint' && this.#endpoint === undefined) onEndpoint(data)
      else if (event === 'message') this.#dialogue.hear({ bytes: data, cut: 0, borrowed: false })
    })
    const error = await hearEvents(answer, reader).catch((cause: Error) => cause)
    if (error) return error
    const hint = 'Look into the log of the server; a proxy in front of it may close streams that are quiet'
    return new RemoteFailure('connection_reset', `${answer.url.host} closed its stream`, hint)
  }

  #send(text: string, message: Outgoing): void {
    if (typeof message.id === 'number' && message.method !== undefined) void this.#carry(text, message.id)
    else if (this.#telling < MAX_TELLING) void this.#tell(text, TELL_MS)
  }

  /** The answer comes in the stream. Never rejects: what goes wrong here goes to the dialogue. */
  async #carry(text: string, id: number): Promise<void> {
    const exchange = new AbortController()
    this.#open.set(id, exchange)
    try {
      const answer = await this.#post(text, null, exchange.signal)
      if (answer.status >= 200 && answer.status < 300) return answer.discard()
      const refused = await refusalIn(answer, this.#options.secrets)
      if (answer.status !== 404) throw refused
      const lost = sessionLost(answer.url.host)
      this.#dialogue.fail(id, lost)
      this.#lose(lost)
    } catch (error) {
      this.#dialogue.fail(id, error as Error)
    } finally {
      this.#open.delete(id)
    }
  }

  /** What nobody waits for. Never rejects. */
  async #tell(text: string, timeoutMs: number): Promise<void> {
    this.#telling += 1
    await this.#post(text, timeoutMs)
      .then((answer) => answer.discard())
      .catch(() => {})
    this.#telling -= 1
  }

  #post(body: string, timeoutMs: number | null, signal?: AbortSignal): Promise<HttpResponse> {
    const { client, url } = this.#options
    const to = this.#endpoint ?? url
    const headers = { ...JSON_TYPE, accept: '*/*' }
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
    this.#dialogue.close(reason)
    const closed = new CallFailure('closed', reason)
    for (const exchange of this.#open.values()) exchange.abort(closed)
    this.#end.abort(closed)
  }
}

const MAX_ENDPOINT_BYTES = 8192

function endpointIn(data: Buffer, url: URL): URL | RemoteFailure {
  const text = data.toString('utf8', 0, MAX_ENDPOINT_BYTES).trim()
  if (data.length > MAX_ENDPOINT_BYTES || !URL.canParse(text, url.href)) {
    const hint = 'Check that the URL is the SSE endpoint of an MCP server'
    return new RemoteFailure('protocol_error', `${url.host} does not say where messages go`, hint)
  }
  const endpoint = new URL(text, url)
  if (endpoint.origin === url.origin) return endpoint
  const message = `${url.host} wants messages to be sent to another origin, where the headers of this server must not go`
  return new RemoteFailure(
    'redirect_refused',
    message,
    'Correct the public address in the settings of the server',
  )
}
