import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { within } from '../../../kernel/within.ts'
import type { HttpClient } from '../../../net/http-client.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { CallFailure } from '../../../protocol/call.ts'
import type { Greeting } from '../../client/greeting.ts'
import { Dialogue, type Outgoing } from '../../client/json-rpc-peer.ts'
import { initialize } from '../../client/legacy-handshake.ts'
import { type Asker, discover, modernAsker } from '../../client/modern-requests.ts'
import { CAPABILITIES } from '../../client/server-requests.ts'
import type { ToolList } from '../../client/tool-list.ts'
import { answerLimit, hearBody, isEventStream, refusalIn } from '../http/response-messages.ts'
import {
  ACCEPT_BOTH,
  ACCEPT_STREAM,
  type Carrier,
  type CarrierEvents,
  JSON_TYPE,
  TELL_MS,
} from '../http/transport.ts'
import { mayBeLost, Session, sessionLost } from './http-session.ts'
import { type Mirrors, mirrorHeaders, mirrorsIn } from './mirrored-headers.ts'
import { StandingStream } from './notification-stream.ts'
import { hearAnswerStream } from './response-stream.ts'

interface Options extends CarrierEvents {
  readonly client: HttpClient
  readonly url: URL
  readonly version: string
  readonly secrets: KnownSecrets
}

/** A refusal by status, for the caller to judge. */
interface Refused {
  readonly status: number
  readonly error: Error
}

const RENEW_MS = 10_000
const MAX_TELLING = 64
/** Some servers begin the answer to the question for their stream only when they have something to say. */
const HEARS_WITHIN_MS = 1000
/** Their answer may begin as late as it ends. */
const SLOW = ['tools/call', 'resources/read', 'prompts/get', 'completion/complete', 'subscriptions/listen']

/** Streamable HTTP, in both eras: a POST for each message, and what comes back for it is in its answer. */
export class Streamable implements Carrier {
  readonly transport = 'streamable_http'
  readonly #options: Options
  readonly #dialogue: Dialogue
  readonly #open = new Map<number, AbortController>()
  #asker: Asker
  #era: Greeting['era'] = 'legacy'
  readonly #session = new Session()
  #renewing: Promise<void> | undefined
  #standing: StandingStream | undefined
  #hears: Promise<unknown> | undefined
  #mirrors: Mirrors = new Map()
  #telling = 0
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
    this.#asker = this.#dialogue
  }

  get asker(): Asker {
    return this.#asker
  }

  get plain(): Asker {
    return this.#dialogue
  }

  /** Rejects when the server does not speak the modern era. */
  async discover(timeoutMs: number): Promise<Greeting> {
    this.#era = 'modern'
    const greeting = await discover(this.#dialogue, this.#options.version, timeoutMs)
    this.#asker = modernAsker(this.#dialogue, this.#options.version)
    return greeting
  }

  async initialize(timeoutMs: number): Promise<Greeting> {
    const deadline = performance.now() + timeoutMs
    this.#era = 'legacy'
    const { version } = this.#options
    const request: Dialogue['request'] = (...question) => this.#dialogue.request(...question)
    const greeting = await initialize({ request, notify: () => {} }, version, timeoutMs, CAPABILITIES)
    this.#session.protocol = greeting.protocol_version
    // Servers refuse what comes before this, and another connection may be quicker: so it must have arrived.
    const done = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await this.#tell(done, Math.min(TELL_MS, deadline - performance.now()))
    return greeting
  }

  async listen(): Promise<void> {
    if (this.#era === 'legacy' && !this.#standing) this.#stand()
    await this.#hears
  }

  knows(list: ToolList): void {
    this.#mirrors = mirrorsIn(list)
  }

  async close(timeoutMs: number): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#standing?.close()
    this.#dialogue.close('The connection was closed')
    for (const exchange of this.#open.values()) exchange.abort(new CallFailure('closed', 'It was closed'))
    if (this.#session.id === undefined || timeoutMs <= 0) return
    const { client, url } = this.#options
    const { headers } = this.#session
    const goodbye = client.request({ method: 'DELETE', url, headers, timeoutMs })
    await goodbye.then((answer) => answer.discard()).catch(() => {}) // a session that nobody uses ends by itself
  }

  #send(text: string, message: Outgoing): void {
    if (typeof message.id === 'number' && message.method !== undefined) {
      void this.#carry(text, message, message.id)
    } else if (this.#era === 'legacy' && this.#telling < MAX_TELLING) {
      // The modern era knows neither answers of ours nor a message that cancels: the end of the stream is that.
      void this.#tell(text, TELL_MS)
    }
  }

  /** Never rejects: the outcome goes to the dialogue. */
  async #carry(text: string, message: Outgoing, id: number): Promise<void> {
    const exchange = new AbortController()
    this.#open.set(id, exchange)
    const isFirst = message.method === 'initialize'
    try {
      if (!isFirst) await this.#renewing
      const session = isFirst ? undefined : this.#session.id
      const refused = await this.#exchange(text, message, id, exchange.signal)
      if (!refused) return
      if (session === undefined || !mayBeLost(refused.status)) throw refused.error
      await this.#renewed(session)
      const again = await this.#exchange(text, message, id, exchange.signal)
      if (again) throw again.status === 404 ? sessionLost(this.#options.url.host) : again.error
    } catch (error) {
      this.#dialogue.fail(id, error as Error)
    } finally {
      this.#open.delete(id)
    }
  }

  async #exchange(
    text: string,
    message: Outgoing,
    id: number,
    signal: AbortSignal,
  ): Promise<Refused | undefined> {
    const { client, url, secrets } = this.#options
    const { method = '' } = message
    const modern = this.#era === 'modern'
    const answer = await client.request({
      method: 'POST',
      url,
      headers: { ...ACCEPT_BOTH, ...JSON_TYPE, ...this.#headersFor(message) },
      body: text,
      timeoutMs: null,
      ...(SLOW.includes(method) && { firstByteMs: null }),
      signal,
      repeatable: method !== 'tools/call',
    })
    if (answer.status < 200 || answer.status > 299) {
      return { status: answer.status, error: await refusalIn(answer, secrets) }
    }
    if (method === 'initialize') this.#session.begin(answer)
    const maxBytes = answerLimit(method)
    if (!isEventStream(answer)) {
      await hearBody(answer, this.#dialogue, id, maxBytes)
      return undefined
    }
    await hearAnswerStream(answer, {
      dialogue: this.#dialogue,
      id,
      maxBytes,
      ...(method === 'subscriptions/listen' && { streamMaxBytes: Number.POSITIVE_INFINITY }),
      signal,
      resume: modern ? undefined : (lastEventId) => this.#stream(lastEventId, signal),
    })
    return undefined
  }

  /** What nobody waits for. Never rejects: who does not take it will not answer the next request either. */
  async #tell(text: string, timeoutMs: number): Promise<void> {
    const { client, url } = this.#options
    const headers = { ...ACCEPT_BOTH, ...JSON_TYPE, ...this.#session.headers }
    this.#telling += 1
    await client
      .request({ method: 'POST', url, headers, body: text, timeoutMs, repeatable: true })
      .then((answer) => answer.discard())
      .catch(() => {})
    this.#telling -= 1
  }

  /** The server has forgotten the session, or was started anew: greets it again, once for all who noticed. */
  async #renewed(lost: string): Promise<void> {
    if (this.#session.id !== lost) return
    this.#renewing ??= this.initialize(RENEW_MS)
      .then(
        async () => {
          this.#options.onChanged()
          if (this.#standing) this.#stand()
          await this.#hears
        },
        (error: unknown) => {
          this.#session.id = lost
          throw error
        },
      )
      .finally(() => {
        this.#renewing = undefined
      })
    await this.#renewing
  }

  #stand(): void {
    this.#standing?.close()
    if (this.#closed) return
    this.#standing = new StandingStream({
      open: (lastEventId, signal) => this.#stream(lastEventId, signal),
      hear: ({ data }) => void this.#dialogue.hear({ bytes: data, cut: 0, borrowed: false }),
      onGap: this.#options.onChanged,
    })
    this.#hears = within(this.#standing.answered, HEARS_WITHIN_MS)
  }

  #stream(lastEventId: string | undefined, signal: AbortSignal): Promise<HttpResponse> {
    const { client, url } = this.#options
    const from = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { ...ACCEPT_STREAM, ...this.#session.headers, ...from }
    return client.request({ method: 'GET', url, headers, timeoutMs: null, firstByteMs: null, signal })
  }

  #headersFor(message: Outgoing): Record<string, string> {
    if (this.#era === 'modern') return mirrorHeaders(message, this.#mirrors)
    return message.method === 'initialize' ? {} : this.#session.headers
  }
}
