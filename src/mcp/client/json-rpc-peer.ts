import { isObject } from '../../kernel/is-object.ts'
import {
  CallFailure,
  type CallResult,
  type FailureReason,
  type TimedCallOptions,
} from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import { type Frame, MESSAGE_MAX_BYTES } from '../../protocol/frames.ts'
import { InFlight } from '../../protocol/in-flight.ts'
import { type Message, readMessage, remoteErrorOf, resultBytes } from '../../protocol/json-rpc-message.ts'
import { Patience } from './request-deadline.ts'
import { isForAgents, ownAnswer } from './server-requests.ts'

/** What we send: a request has both, a notification no id, an answer no method. */
export interface Outgoing {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
}

/** What carries our messages to the other side. */
export interface Wire {
  /** Must not throw: what cannot be carried is told to the dialogue with `fail`. */
  readonly send: (text: string, message: Outgoing) => void
  /** One message in three parts, where that saves making one text of them. */
  readonly sendSpliced?: (head: string, middle: Buffer, tail: string) => void
  /** Why nothing can be carried now. */
  readonly refusal?: () => CallFailure | undefined
  /** Nobody waits for the answer to this request any longer. */
  readonly forget?: (id: number) => void
}

interface Options {
  readonly wire: Wire
  readonly onNotification: (method: string, params: unknown) => void
}

interface Pending {
  readonly method: string
  readonly fail: (error: Error) => void
  readonly onProgress: TimedCallOptions['onProgress']
  readonly onServerRequest: TimedCallOptions['onServerRequest']
  readonly succeed: (message: Message, line: Frame) => void
  readonly timeoutMs: number | null
  readonly onDeadline: () => void
  timer: NodeJS.Timeout | undefined
  patience: Patience | undefined
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The specification forbids to cancel the first; before a handshake, silence about the second is kinder. */
const NEVER_CANCELLED = ['initialize', 'server/discover']

/** JSON-RPC with a server, whatever carries it. Every request gets exactly one outcome. */
export class Dialogue {
  readonly #options: Options
  readonly #pending = new InFlight<number, Pending>()
  #lastId = 0
  #closed: CallFailure | undefined
  /** Messages that name a request we do not know: answered twice, too late, or never asked. */
  strayAnswers = 0
  /** Answers and notifications of ours that found no room. */
  droppedMessages = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** The result, parsed. Rejects with a CallFailure, or with the error of who carries the messages. */
  request(method: string, params: unknown, options: TimedCallOptions): Promise<unknown> {
    return this.#ask(method, params, options, (message, { bytes }) =>
      message.resultAt && message.result === undefined ? parsed(resultBytes(bytes, message)) : message.result,
    )
  }

  /** The result, parsed and as it came. */
  requestRaw(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    return this.#ask(method, params, options, (message, { bytes, borrowed }) => {
      const json = resultBytes(bytes, message)
      const kept = borrowed ? Buffer.from(json) : json
      return message.result === undefined ? new UnreadResult(kept) : { value: message.result, json: kept }
    })
  }

  notify(method: string, params?: unknown): void {
    this.#tell({ jsonrpc: '2.0', method, params })
  }

  /** Takes one message of the other side. False when it is none. `along` is the request whose answer it came along with. */
  hear(frame: Frame, along?: number): boolean {
    if (frame.cut > 0) return this.#refuseTooLarge(frame.bytes)
    const message = readMessage(frame.bytes)
    if (!message) return false
    const { id, method } = message
    if (typeof method !== 'string') this.#answered(message, frame)
    else if (id === undefined) this.#noted(method, message.params)
    else this.#answer(id, method, message.params, along)
    return true
  }

  /** Whether the request with this id is still without an outcome. */
  awaits(id: number): boolean {
    return this.#pending.has(id)
  }

  /** This request could not be carried, or its answer cannot come any more. */
  fail(id: number, error: Error): void {
    this.#pending.get(id)?.fail(error)
  }

  /** Whoever still waits is told at once. */
  close(reason: string): void {
    if (this.#closed) return
    this.#closed = new CallFailure('closed', reason)
    for (const { fail } of this.#pending.values()) fail(this.#closed)
  }

  #ask<T>(
    method: string,
    params: unknown,
    { timeoutMs, signal, onProgress, onServerRequest, rawArguments }: TimedCallOptions,
    take: (message: Message, line: Frame) => T,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(new CallFailure('cancelled', `${method} was cancelled`))
    const id = this.#lastId + 1
    const message = { jsonrpc: '2.0', id, method, params: onProgress ? withToken(params, id) : params }
    const text = JSON.stringify(message)
    const refused = this.#refusal(method, text, rawArguments?.length)
    if (refused) return Promise.reject(refused)
    this.#lastId = id
    return new Promise((resolve, reject) => {
      const giveUp = (reason: FailureReason, message: string) => {
        fail(new CallFailure(reason, message))
        if (!NEVER_CANCELLED.includes(method))
          this.notify('notifications/cancelled', { requestId: id, reason: message })
        this.#options.wire.forget?.(id)
      }
      const onAbort = () => giveUp('cancelled', `${method} was cancelled`)
      const onDeadline = () => {
        const more = pending.patience?.more()
        if (more === undefined) giveUp('timeout', `${method} was not answered within ${secondsOf(timeoutMs)}`)
        else if (more > 0) pending.timer = setTimeout(onDeadline, more)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      const forget = () => {
        clearTimeout(pending.timer)
        pending.timer = undefined
        signal?.removeEventListener('abort', onAbort)
        this.#pending.delete(id)
      }
      const fail = (error: Error) => {
        forget()
        reject(error)
      }
      const succeed = (message: Message, answer: Frame) => {
        forget()
        resolve(take(message, answer))
      }
      const pending: Pending = {
        method,
        fail,
        onProgress,
        onServerRequest,
        succeed,
        timeoutMs,
        onDeadline,
        timer: timeoutMs === null ? undefined : setTimeout(onDeadline, Math.min(timeoutMs, LONGEST_TIMER_MS)),
        patience: undefined,
      }
      this.#pending.add(id, pending)
      if (rawArguments) this.#sendWith(text, message, rawArguments)
      else this.#options.wire.send(text, message)
    })
  }

  /** Without reading and writing them anew: at the end of `params`, which is the end of the message. */
  #sendWith(text: string, message: Outgoing, rawArguments: Buffer): void {
    const { send, sendSpliced } = this.#options.wire
    const head = `${text.slice(0, -2)},"arguments":`
    if (sendSpliced) sendSpliced(head, rawArguments, '}}')
    else send(`${head}${rawArguments.toString('utf8')}}}`, message)
  }

  #tell(message: object): void {
    if (this.#closed) return
    const text = JSON.stringify(message)
    if (this.#refusal('A message', text)) this.droppedMessages += 1
    else this.#options.wire.send(text, message)
  }

  /** Why this cannot be sent now. */
  #refusal(what: string, text: string, more = 0): CallFailure | undefined {
    const refused = this.#closed ?? this.#options.wire.refusal?.()
    if (refused) return refused
    const room = MESSAGE_MAX_BYTES - more
    const mayBeTooLarge = text.length * 3 > room // no character of a string takes more bytes
    if (!mayBeTooLarge || Buffer.byteLength(text) <= room) return undefined
    return new CallFailure('too_large', `${what} is larger than ${LIMIT}`)
  }

  /** Progress belongs to a request; everything else to whoever listens. */
  #noted(method: string, params: unknown): void {
    if (method !== 'notifications/progress' || !isObject(params)) {
      this.#options.onNotification(method, params)
      return
    }
    const { progressToken } = params
    const pending = typeof progressToken === 'number' ? this.#pending.get(progressToken) : undefined
    if (!pending?.onProgress) return
    patienceOf(pending).progressed()
    pending.onProgress(params)
  }

  #answered(message: Message, line: Frame): void {
    const pending = typeof message.id === 'number' ? this.#pending.get(message.id) : undefined
    if (!pending) {
      this.strayAnswers += 1
      return
    }
    const remote = remoteErrorOf(message)
    if (remote) pending.fail(new CallFailure('remote', remote.message, remote))
    else pending.succeed(message, line)
  }

  /** What servers ask of us. An id of 0 is an id. */
  #answer(id: unknown, method: string, params: unknown, along: number | undefined): void {
    const asked = isForAgents(method) ? this.#askable(along) : undefined
    if (asked?.onServerRequest) {
      const patience = patienceOf(asked)
      patience.asked()
      asked
        .onServerRequest(method, params)
        .finally(() => patience.answered())
        .then(
          (result) => this.#tell({ jsonrpc: '2.0', id, result }),
          (error: unknown) => this.#tell({ jsonrpc: '2.0', id, error: refusalOf(error) }),
        )
      return
    }
    const result = ownAnswer(method)
    const error = { code: CODES.method, message: `${method.slice(0, 100)} is not supported` }
    this.#tell({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
  }

  /** Whoever made the request that it came along with. Where nothing says so, the newest caller is the likeliest. */
  #askable(along: number | undefined): Pending | undefined {
    if (along !== undefined) return this.#pending.get(along)
    return this.#pending.values().findLast(({ onServerRequest }) => onServerRequest !== undefined)
  }

  /** The head of an answer that is too large mostly tells which request it is for; then that one fails, alone. */
  #refuseTooLarge(line: Buffer): boolean {
    const id = ANSWER_HEAD.exec(line.toString('latin1', 0, 256))?.[1]
    const pending = id === undefined ? undefined : this.#pending.get(Number(id))
    pending?.fail(new CallFailure('too_large', `The answer to ${pending.method} is larger than ${LIMIT}`))
    return pending !== undefined
  }
}

/** A large result, which is read only when somebody looks into it. */
class UnreadResult implements CallResult {
  readonly json: Buffer
  #value: unknown

  constructor(json: Buffer) {
    this.json = json
  }

  get value(): unknown {
    this.#value ??= parsed(this.json)
    return this.#value
  }
}

/** Undefined for what looked like JSON and is none. */
function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'))
  } catch {
    return undefined
  }
}

function patienceOf(pending: Pending): Patience {
  pending.patience ??= new Patience(pending, pending.onDeadline)
  return pending.patience
}

/** The id of the request is as good a token as any, and nobody else uses it. */
function withToken(params: unknown, progressToken: number): object {
  const given = isObject(params) ? params : {}
  return { ...given, _meta: { ...(isObject(given._meta) ? given._meta : {}), progressToken } }
}

function refusalOf(error: unknown): object {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return { code: typeof code === 'number' ? code : CODES.method, message: String(message ?? 'refused') }
}

const LIMIT = `${MESSAGE_MAX_BYTES / 1024 / 1024} MiB`
const ANSWER_HEAD =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,[^{[]*?"(?:result|error)"\s*:/

function secondsOf(ms: number | null): string {
  return `${Number(((ms ?? 0) / 1000).toPrecision(3))} s`
}
