import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../kernel/is-object.ts'
import { Hello } from './handshake.ts'
import { headersOf } from './headers.ts'
import type { Hear } from './hear.ts'
import { Away, type Link, nextWait } from './link.ts'
import {
  CODES,
  errorLine,
  idKey,
  isRequest,
  type Message,
  noteLine,
  oneLine,
  type Request,
  readMessage,
  Unreadable,
} from './message.ts'
import { askOnce, type Outcome, refusalLine } from './once.ts'

interface Deps {
  readonly link: Link
  /** One line to the agent. */
  readonly write: (line: Buffer | string) => void
  /** For the person who reads what the agent keeps of our stderr. */
  readonly warn: (sentence: string) => void
  /** What to say when nobody answers. */
  readonly away: string
  readonly patienceMs: number
}

/** A request of the agent that has no answer yet. */
interface Open {
  readonly request: Request
  readonly gone: AbortController
  /** By a legacy agent: Toolroom is told, and an answer may come or not. */
  isCancelled: boolean
}

const NO_KEY =
  'Toolroom does not take the key in TOOLROOM_KEY: it was taken away or replaced. Connect this agent again with POST /api/agents/{agent_type}/connect, and restart it'
const BROKEN = 'The connection to Toolroom broke off during the call, which may have been carried out or not'
const LISTEN = 'subscriptions/listen'
const CHANGED = 'notifications/tools/list_changed'
/** Once more after a break, and once more again: what fails a third time fails by itself. */
const MOST_TRIES = 3

/**
 * Hands messages on between an agent at our streams and the gateway behind HTTP, both eras alike. Requests run side by
 * side, and set out in the order in which they came.
 */
export class Bridge {
  readonly #deps: Deps
  readonly #hello: Hello
  readonly #open = new Map<string, Open>()
  readonly #work = new Set<Promise<void>>()
  /** The last message has set out. */
  #before: Promise<void> = Promise.resolve()
  #hasKey = true

  constructor(deps: Deps) {
    this.#deps = deps
    const { link, write } = deps
    const hear: Hear = (message, bytes) => write(oneLine(bytes, message))
    const onChanged = () => write(noteLine(CHANGED))
    this.#hello = new Hello({ link, hear, onChanged, onNoKey: () => this.#noKey() })
  }

  take(bytes: Buffer): void {
    let message: Message
    try {
      message = readMessage(bytes)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      this.#deps.write(errorLine(null, error.code, error.message))
      return
    }
    if (message.method === 'notifications/cancelled' && this.#cancel(message)) return
    const until = performance.now() + this.#deps.patienceMs
    if (!isRequest(message)) {
      this.#enqueue(() => this.#tell(message, until))
      return
    }
    const open = { request: message, gone: new AbortController(), isCancelled: false }
    this.#open.set(idKey(message.id), open)
    this.#enqueue((onSent) => this.#ask(open, until, onSent))
  }

  /** What is under way may still end; what only listens need not. */
  async end(graceMs: number): Promise<void> {
    this.#hello.close()
    for (const { request, gone } of this.#open.values()) if (request.method === LISTEN) gone.abort()
    await Promise.race([Promise.allSettled(this.#work), sleep(graceMs)])
    for (const { gone } of this.#open.values()) gone.abort()
    await this.#hello.end()
  }

  #enqueue(job: (onSent: () => void) => Promise<void>): void {
    let onSent = () => {}
    const before = this.#before
    this.#before = new Promise((resolve) => {
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

  /** True when Toolroom need not be told: on HTTP a modern request is cancelled by hanging up. */
  #cancel({ params, modern }: Message): boolean {
    const open = this.#open.get(idKey(params.requestId))
    if (!open) return modern !== undefined || !this.#hello.session
    if (open.request.modern === undefined) {
      open.isCancelled = true
      return false
    }
    open.gone.abort()
    return true
  }

  async #ask(open: Open, due: number, onSent: () => void): Promise<void> {
    const { request, gone } = open
    const { id, method } = request
    // Whoever says more in one breath means it to come after the greeting was answered.
    const sent = method === 'initialize' ? () => {} : onSent
    try {
      let until = due
      let waitMs = 0
      for (let tries = 1; ; tries += 1) {
        const { session } = this.#hello
        const outcome = await this.#once(open, until, sent, tries > 1)
        if (outcome === 'answered' || gone.signal.aborted || open.isCancelled) return
        const isOver = outcome !== 'broken' && outcome.status === 404 && session && !request.modern
        const isAgain = isOver ? await this.#hello.renew(session) : mayRepeat(request, outcome)
        const isListening = method === LISTEN // for as long as the agent wants to
        if (!isAgain || (tries === MOST_TRIES && !isListening)) return this.#refuse(request, outcome)
        waitMs = nextWait(waitMs)
        if (!isOver) await sleep(waitMs, undefined, { signal: gone.signal })
        until = isListening ? Number.POSITIVE_INFINITY : performance.now() + this.#deps.patienceMs
      }
    } catch (error) {
      if (gone.signal.aborted) return // nobody waits for it
      const sentence = error instanceof Away ? this.#deps.away : BROKEN
      this.#deps.write(errorLine(id, CODES.away, sentence))
      this.#deps.warn(sentence)
    } finally {
      if (this.#open.get(idKey(id)) === open) this.#open.delete(idKey(id))
    }
  }

  #once(open: Open, until: number, onSent: () => void, isAgain: boolean): Promise<Outcome> {
    const { write, link } = this.#deps
    const { request, gone } = open
    return askOnce(link, request, {
      session: this.#hello.session,
      signal: gone.signal,
      until,
      onSent,
      write,
      onAnswer: (message, answer) => {
        this.#hasKey = true
        if (request.method === 'initialize' && !request.modern) this.#hello.greeted(request, answer, message)
      },
      isUnwanted: (message) =>
        (open.isCancelled && message.method === undefined) ||
        (request.method === LISTEN && (isEndOf(request, message) || (isAgain && this.#isKnown(message)))),
    })
  }

  /** To who has listened all along, a new beginning is a change. */
  #isKnown({ method, params }: Readonly<Record<string, unknown>>): boolean {
    if (method !== 'notifications/subscriptions/acknowledged' || !isObject(params)) return false
    const { notifications, _meta } = params
    if (isObject(notifications) && notifications.toolsListChanged === true)
      this.#deps.write(noteLine(CHANGED, { _meta }))
    return true
  }

  #refuse(request: Request, outcome: Exclude<Outcome, 'answered'>): void {
    const { write } = this.#deps
    if (outcome === 'broken') write(errorLine(request.id, CODES.away, BROKEN))
    else if (outcome.status !== 401) write(refusalLine(request, outcome))
    else {
      this.#noKey()
      write(errorLine(request.id, CODES.key, NO_KEY))
    }
  }

  /** Notifications, and answers to what a server asked. */
  async #tell(message: Message, until: number): Promise<void> {
    const { link, warn, away } = this.#deps
    try {
      const headers = headersOf(message, this.#hello.session)
      const signal = AbortSignal.timeout(this.#deps.patienceMs * 2)
      const answer = await link.reach({ method: 'POST', headers, body: message.bytes, signal, until })
      answer.resume()
      const { statusCode: status = 0 } = answer
      if (status === 401) this.#noKey()
      const isHello = message.method === 'notifications/initialized' && message.modern === undefined
      if (isHello && status < 300) this.#hello.initialized(message)
    } catch (error) {
      warn(error instanceof Away ? away : `${message.method ?? 'An answer'} did not arrive: ${String(error)}`)
    }
  }

  #noKey(): void {
    if (this.#hasKey) this.#deps.warn(NO_KEY)
    this.#hasKey = false
  }
}

/** A call may have been carried out; whatever else was asked may be asked again. */
const mayRepeat = ({ method }: Request, outcome: Exclude<Outcome, 'answered'>): boolean =>
  outcome === 'broken' && method !== 'tools/call'

/** A Toolroom that stops ends what listens, and the next one goes on with it: to the agent there is no end. */
const isEndOf = ({ id }: Request, { method, params, ...rest }: Readonly<Record<string, unknown>>): boolean =>
  method === undefined
    ? rest.id === id && rest.result !== undefined
    : method === 'notifications/cancelled' && isObject(params) && params.requestId === id
