import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../kernel/json/json-checks.ts'
import {
  CODES,
  errorLine,
  headersOf,
  idKey,
  isRequest,
  type Message,
  notificationLine,
  oneLine,
  type Request,
  readMessage,
  Unreadable,
} from './bridge-message.ts'
import { type Link, nextWait, Unavailable } from './gateway-link.ts'
import { LegacySession } from './legacy-session.ts'
import { type Outcome, refusalLine, sendRequest } from './send-request.ts'

interface Deps {
  readonly link: Link
  /** Writes one line to the agent. */
  readonly write: (line: Buffer | string) => void
  /** Writes to stderr, which agents keep in their log. */
  readonly warn: (sentence: string) => void
  /** The error message while no Toolroom is listening. */
  readonly unavailable: string
  /** How long a message waits for an unavailable Toolroom. */
  readonly timeoutMs: number
}

/** An agent's request without a response. */
interface Pending {
  readonly request: Request
  readonly abort: AbortController
  /** Cancelled by a legacy agent. The cancellation is forwarded, and a late response is dropped. */
  isCancelled: boolean
}

const KEY_REFUSED =
  'Toolroom refused the key in TOOLROOM_KEY: it was deleted or replaced. Connect this agent again with toolroom agents connect, and restart it'
const BROKEN =
  'The connection to Toolroom was lost during the call. The call may or may not have been executed'
const LISTEN = 'subscriptions/listen'
const CHANGED = 'notifications/tools/list_changed'
/** A request that breaks the connection three times is the cause itself. */
const MAX_TRIES = 3

/**
 * Forwards messages between an agent on stdio and the gateway over HTTP, in both protocol eras. Requests run
 * concurrently and are sent in the order in which they arrive.
 */
export class Bridge {
  readonly #deps: Deps
  readonly #legacy: LegacySession
  readonly #pending = new Map<string, Pending>()
  readonly #work = new Set<Promise<void>>()
  /** Resolves when the last message is sent. */
  #lastSent: Promise<void> = Promise.resolve()
  #isKeyAccepted = true

  constructor(deps: Deps) {
    this.#deps = deps
    const { link, write } = deps
    this.#legacy = new LegacySession({
      link,
      onMessage: (_, bytes) => write(oneLine(bytes)),
      onChanged: () => write(notificationLine(CHANGED)),
      onKeyRefused: () => this.#keyRefused(),
    })
  }

  receive(bytes: Buffer): void {
    let message: Message
    try {
      message = readMessage(bytes)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      this.#deps.write(errorLine(null, error.code, error.message))
      return
    }
    if (message.method === 'notifications/cancelled' && this.#cancel(message)) return
    const until = performance.now() + this.#deps.timeoutMs
    if (!isRequest(message)) {
      this.#enqueue(() => this.#forward(message, until))
      return
    }
    const pending = { request: message, abort: new AbortController(), isCancelled: false }
    this.#pending.set(idKey(message.id), pending)
    if (isStarting(message, false)) this.#deps.link.wake()
    this.#enqueue((onSent) => this.#request(pending, until, onSent))
  }

  /** Waits up to `graceMs` for pending requests, except subscriptions. */
  async end(graceMs: number): Promise<void> {
    this.#legacy.close()
    for (const { request, abort } of this.#pending.values()) if (request.method === LISTEN) abort.abort()
    await Promise.race([Promise.allSettled(this.#work), sleep(graceMs)])
    for (const { abort } of this.#pending.values()) abort.abort()
    await this.#legacy.end()
  }

  #enqueue(job: (onSent: () => void) => Promise<void>): void {
    let onSent = () => {}
    const before = this.#lastSent
    this.#lastSent = new Promise((resolve) => {
      onSent = resolve
    })
    const work = before
      .then(() => job(onSent))
      .catch((error: unknown) => this.#deps.warn(`A message was lost: ${String(error)}`))
      .finally(() => {
        onSent()
        this.#work.delete(work)
      })
    this.#work.add(work)
  }

  /** True if the notification must not be forwarded: over HTTP, closing the connection cancels a modern request. */
  #cancel({ params, modern }: Message): boolean {
    const pending = this.#pending.get(idKey(params.requestId))
    if (!pending) return modern !== undefined || !this.#legacy.current
    if (pending.request.modern === undefined) {
      pending.isCancelled = true
      return false
    }
    pending.abort.abort()
    return true
  }

  async #request(pending: Pending, firstUntil: number, onSent: () => void): Promise<void> {
    const { request, abort } = pending
    const { id, method } = request
    // Messages after `initialize` wait for its response, even if the agent did not.
    const sent = method === 'initialize' ? () => {} : onSent
    try {
      let until = firstUntil
      let waitMs = 0
      for (let tries = 1; ; tries += 1) {
        const session = this.#legacy.current
        const outcome = await this.#attempt(pending, until, sent, tries > 1)
        if (outcome === 'answered' || abort.signal.aborted || pending.isCancelled) return
        const isExpired = outcome !== 'broken' && outcome.status === 404 && session && !request.modern
        const isRetried = isExpired ? await this.#legacy.renew(session) : mayRepeat(request, outcome)
        const isListening = method === LISTEN // retried until the agent cancels it
        if (!isRetried || (tries === MAX_TRIES && !isListening)) return this.#refuse(request, outcome)
        waitMs = nextWait(waitMs)
        if (!isExpired) await sleep(waitMs, undefined, { signal: abort.signal })
        until = isListening ? Number.POSITIVE_INFINITY : performance.now() + this.#deps.timeoutMs
      }
    } catch (error) {
      if (abort.signal.aborted) return // cancelled
      const sentence = error instanceof Unavailable ? this.#explain(error) : BROKEN
      this.#deps.write(errorLine(id, CODES.unavailable, sentence))
      this.#deps.warn(sentence)
    } finally {
      if (this.#pending.get(idKey(id)) === pending) this.#pending.delete(idKey(id))
    }
  }

  #attempt(pending: Pending, until: number, onSent: () => void, isRetry: boolean): Promise<Outcome> {
    const { write, link } = this.#deps
    const { request, abort } = pending
    return sendRequest(link, request, {
      session: this.#legacy.current,
      signal: abort.signal,
      until,
      isStart: isStarting(request, isRetry),
      onSent,
      write,
      onAnswer: (message, response) => {
        this.#isKeyAccepted = true
        if (request.method === 'initialize' && !request.modern)
          this.#legacy.onInitializeResult(request, response, message)
      },
      isDropped: (message) =>
        (pending.isCancelled && message.method === undefined) ||
        (request.method === LISTEN &&
          (isEndOf(request, message) || (isRetry && this.#isRepeatedAck(message)))),
    })
  }

  /** The agent already has an acknowledgement. Instead of a second one it gets a change notification. */
  #isRepeatedAck({ method, params }: Readonly<Record<string, unknown>>): boolean {
    if (method !== 'notifications/subscriptions/acknowledged' || !isObject(params)) return false
    const { notifications, _meta } = params
    if (isObject(notifications) && notifications.toolsListChanged === true)
      this.#deps.write(notificationLine(CHANGED, { _meta }))
    return true
  }

  #refuse(request: Request, outcome: Exclude<Outcome, 'answered'>): void {
    const { write } = this.#deps
    if (outcome === 'broken') write(errorLine(request.id, CODES.unavailable, BROKEN))
    else if (outcome.status !== 401) write(refusalLine(request, outcome))
    else {
      this.#keyRefused()
      write(errorLine(request.id, CODES.key, KEY_REFUSED))
    }
  }

  /** For notifications, and for responses to a server's requests. */
  async #forward(message: Message, until: number): Promise<void> {
    const { link, warn, timeoutMs } = this.#deps
    try {
      const headers = headersOf(message, this.#legacy.current)
      const signal = AbortSignal.timeout(timeoutMs * 2)
      const response = await link.send({ method: 'POST', headers, body: message.bytes, signal, until })
      response.discard()
      const { status } = response
      if (status === 401) this.#keyRefused()
      const isInitialized = message.method === 'notifications/initialized' && message.modern === undefined
      if (isInitialized && status < 300) this.#legacy.onInitialized(message)
    } catch (error) {
      const lost = `${message.method ?? 'A response'} was not delivered: ${String(error)}`
      warn(error instanceof Unavailable ? this.#explain(error) : lost)
    }
  }

  #explain({ cause, refusal }: Unavailable): string {
    if (refusal !== undefined) return refusal
    if (!cause || cause.code === 'connection_refused') return this.#deps.unavailable
    return `Toolroom cannot be reached: ${cause.message}. ${cause.hint}`
  }

  #keyRefused(): void {
    if (this.#isKeyAccepted) this.#deps.warn(KEY_REFUSED)
    this.#isKeyAccepted = false
  }
}

/** A ping and a subscription that is renewed come from no user: after `toolroom down`, they start nothing. */
const isStarting = ({ method }: Request, isRetry: boolean): boolean =>
  method !== 'ping' && !(method === LISTEN && isRetry)

/** A tool call may have been executed. Every other request can be repeated. */
const mayRepeat = ({ method }: Request, outcome: Exclude<Outcome, 'answered'>): boolean =>
  outcome === 'broken' && method !== 'tools/call'

/** A Toolroom that stops ends its subscriptions. The bridge renews them, so the agent must not see the end. */
const isEndOf = ({ id }: Request, { method, params, ...rest }: Readonly<Record<string, unknown>>): boolean =>
  method === undefined
    ? rest.id === id && rest.result !== undefined
    : method === 'notifications/cancelled' && isObject(params) && params.requestId === id
