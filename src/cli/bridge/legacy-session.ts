import { isObject } from '../../kernel/json/json-checks.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { headersOf, type Message, type Session, sessionHeaders } from './bridge-message.ts'
import type { Link } from './gateway-link.ts'
import { readResponse } from './send-request.ts'
import { type OnMessage, SessionStream } from './session-stream.ts'

interface Deps {
  readonly link: Link
  /** Receives servers' notifications and requests. */
  readonly onMessage: OnMessage
  /** Messages may have been missed: the agent should list its tools again. */
  readonly onChanged: () => void
  readonly onKeyRefused: () => void
}

const TIMEOUT_MS = 30_000
const END_MS = 1000

/** A legacy agent's session. Keeps its handshake, to repeat it when Toolroom no longer has the session. */
export class LegacySession {
  readonly #deps: Deps
  #session: Session | undefined
  #initialize: Message | undefined
  #initialized: Message | undefined
  #stream: SessionStream | undefined
  #renewing: Promise<boolean> | undefined
  readonly #end = new AbortController()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get current(): Session | undefined {
    return this.#session
  }

  /** To be called with the response to the agent's `initialize`. */
  onInitializeResult(
    request: Message,
    response: HttpResponse,
    message: Readonly<Record<string, unknown>>,
  ): void {
    const before = this.#session
    if (this.#adopt(request, response, message) && before) void this.#delete(before)
  }

  /** To be called after the agent's `notifications/initialized` was forwarded. Opens the stream. */
  onInitialized(notification: Message): void {
    this.#initialized = notification
    this.#openStream()
  }

  /** Replaces an expired session, once for all callers. False if Toolroom refuses; rejects if it is unavailable. */
  renew(old: Session): Promise<boolean> {
    if (this.#session !== old) return Promise.resolve(true)
    this.#renewing ??= this.#repeatHandshake().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  close(): void {
    this.#end.abort()
    this.#stream?.close()
  }

  async end(): Promise<void> {
    this.close()
    if (this.#session) await this.#delete(this.#session)
  }

  async #repeatHandshake(): Promise<boolean> {
    const request = this.#initialize
    if (!request) return false
    const response = await this.#post(request)
    let isAdopted = false
    await readResponse(response, (message) => {
      isAdopted = this.#adopt(request, response, message)
    })
    if (!isAdopted) return false
    if (this.#initialized) {
      const accepted = await this.#post(this.#initialized)
      accepted.discard()
      this.#openStream()
    }
    this.#deps.onChanged()
    return true
  }

  #adopt(
    request: Message,
    { headers }: HttpResponse,
    { result }: Readonly<Record<string, unknown>>,
  ): boolean {
    const id = headers['mcp-session-id']
    if (typeof id !== 'string' || !isObject(result)) return false
    const { protocolVersion } = result
    this.#session = { id, version: typeof protocolVersion === 'string' ? protocolVersion : '' }
    this.#initialize = request
    return true
  }

  #post(message: Message): Promise<HttpResponse> {
    return this.#deps.link.send({
      method: 'POST',
      headers: headersOf(message, this.#session),
      body: message.bytes,
      signal: this.#end.signal,
      until: performance.now() + TIMEOUT_MS,
    })
  }

  #openStream(): void {
    this.#stream?.close()
    const session = this.#session
    if (!session || this.#end.signal.aborted) return
    const { link, onMessage, onChanged, onKeyRefused } = this.#deps
    const onExpired = () => this.renew(session)
    this.#stream = new SessionStream({ link, session, onMessage, onGap: onChanged, onExpired, onKeyRefused })
  }

  /** Without this, the gateway keeps the session for a day. */
  async #delete(session: Session): Promise<void> {
    const signal = AbortSignal.timeout(END_MS)
    const sending = { method: 'DELETE', headers: sessionHeaders(session), signal, until: 0 } as const
    await this.#deps.link.send(sending).then(
      (response) => response.discard(),
      () => {}, // without a gateway there is no session either
    )
  }
}
