import { type Frame, MESSAGE_MAX_BYTES } from '../kernel/frames.ts'
import {
  isObject,
  type Message,
  type RemoteError,
  readMessage,
  remoteErrorOf,
  resultBytes,
} from './message.ts'

/** Why a request got no result. `remote` is an answer: the other side said no. `busy` and `too_large` may be ours. */
export type Failure = 'remote' | 'timeout' | 'cancelled' | 'closed' | 'too_large' | 'busy'

export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly failure: Failure
  /** The error as the other side sent it, untouched. */
  readonly remote: RemoteError | undefined

  constructor(failure: Failure, message: string, remote?: RemoteError) {
    super(message)
    this.failure = failure
    this.remote = remote
  }
}

export interface RequestOptions {
  /** Null only for what lasts as long as the conversation. */
  readonly timeoutMs: number | null
  readonly signal?: AbortSignal | undefined
  /** Told how far the request is. The token that goes with it is ours, and 0 of others stays theirs. */
  readonly onProgress?: ((params: Readonly<Record<string, unknown>>) => void) | undefined
}

export interface CallResult {
  readonly value: unknown
  /** As the server wrote it: digits, spaces, order and unknown fields included. */
  readonly json: Buffer
}

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
  /** Why nothing can be carried now. */
  readonly refusal?: () => RequestError | undefined
  /** Nobody waits for the answer to this request any longer. */
  readonly forget?: (id: number) => void
}

interface Options {
  readonly wire: Wire
  readonly onNotification: (method: string, params: unknown) => void
  /** Undefined when nobody can answer it. */
  readonly onRequest?: ((method: string, params: unknown) => Promise<unknown> | undefined) | undefined
}

interface Pending {
  readonly method: string
  readonly fail: (error: Error) => void
  readonly onProgress: RequestOptions['onProgress']
  readonly succeed: (message: Message, line: Frame) => void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const METHOD_NOT_FOUND = -32_601

/** The specification forbids to cancel the first; before a handshake, silence about the second is kinder. */
const NEVER_CANCELLED = ['initialize', 'server/discover']

/** JSON-RPC with a server, whatever carries it. Every request gets exactly one outcome. */
export class Dialogue {
  readonly #options: Options
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #closed: RequestError | undefined
  /** Messages that name a request we do not know: answered twice, too late, or never asked. */
  strayAnswers = 0
  /** Answers and notifications of ours that found no room. */
  droppedMessages = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** The result, parsed. Rejects with a RequestError, or with the error of who carries the messages. */
  request(method: string, params: unknown, options: RequestOptions): Promise<unknown> {
    return this.#ask(method, params, options, ({ result }) => result)
  }

  /** The result, parsed and as it came. */
  requestRaw(method: string, params: unknown, options: RequestOptions): Promise<CallResult> {
    return this.#ask(method, params, options, (message, { bytes, borrowed }) => {
      const json = resultBytes(bytes, message)
      return { value: message.result, json: borrowed ? Buffer.from(json) : json }
    })
  }

  notify(method: string, params?: unknown): void {
    this.#tell({ jsonrpc: '2.0', method, params })
  }

  /** Takes one message of the other side. False when it is none. */
  hear(frame: Frame): boolean {
    if (frame.cut > 0) return this.#refuseTooLarge(frame.bytes)
    const message = readMessage(frame.bytes)
    if (!message) return false
    const { id, method } = message
    if (typeof method !== 'string') this.#answered(message, frame)
    else if (id === undefined) this.#noted(method, message.params)
    else this.#answer(id, method, message.params)
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
    this.#closed = new RequestError('closed', reason)
    for (const { fail } of [...this.#pending.values()]) fail(this.#closed)
  }

  #ask<T>(
    method: string,
    params: unknown,
    { timeoutMs, signal, onProgress }: RequestOptions,
    take: (message: Message, line: Frame) => T,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(new RequestError('cancelled', `${method} was cancelled`))
    const id = this.#lastId + 1
    const message = { jsonrpc: '2.0', id, method, params: onProgress ? withToken(params, id) : params }
    const text = JSON.stringify(message)
    const refused = this.#refusal(method, text)
    if (refused) return Promise.reject(refused)
    this.#lastId = id
    return new Promise((resolve, reject) => {
      const giveUp = (failure: Failure, reason: string) => {
        fail(new RequestError(failure, reason))
        if (!NEVER_CANCELLED.includes(method))
          this.notify('notifications/cancelled', { requestId: id, reason })
        this.#options.wire.forget?.(id)
      }
      const onAbort = () => giveUp('cancelled', `${method} was cancelled`)
      const onDeadline = () => giveUp('timeout', `${method} was not answered within ${secondsOf(timeoutMs)}`)
      const timer =
        timeoutMs === null ? undefined : setTimeout(onDeadline, Math.min(timeoutMs, LONGEST_TIMER_MS))
      signal?.addEventListener('abort', onAbort, { once: true })
      const forget = () => {
        clearTimeout(timer)
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
      this.#pending.set(id, { method, fail, onProgress, succeed })
      this.#options.wire.send(text, message)
    })
  }

  #tell(message: object): void {
    if (this.#closed) return
    const text = JSON.stringify(message)
    if (this.#refusal('A message', text)) this.droppedMessages += 1
    else this.#options.wire.send(text, message)
  }

  /** Why this cannot be sent now. */
  #refusal(what: string, text: string): RequestError | undefined {
    const refused = this.#closed ?? this.#options.wire.refusal?.()
    if (refused) return refused
    const mayBeTooLarge = text.length * 3 > MESSAGE_MAX_BYTES // no character of a string takes more bytes
    if (!mayBeTooLarge || Buffer.byteLength(text) <= MESSAGE_MAX_BYTES) return undefined
    return new RequestError('too_large', `${what} is larger than ${LIMIT}`)
  }

  /** Progress belongs to a request; everything else to whoever listens. */
  #noted(method: string, params: unknown): void {
    if (method !== 'notifications/progress' || !isObject(params)) {
      this.#options.onNotification(method, params)
      return
    }
    const { progressToken } = params
    if (typeof progressToken === 'number') this.#pending.get(progressToken)?.onProgress?.(params)
  }

  #answered(message: Message, line: Frame): void {
    const pending = typeof message.id === 'number' ? this.#pending.get(message.id) : undefined
    if (!pending) {
      this.strayAnswers += 1
      return
    }
    const remote = remoteErrorOf(message)
    if (remote) pending.fail(new RequestError('remote', remote.message, remote))
    else pending.succeed(message, line)
  }

  /** What servers ask of us. An id of 0 is an id. */
  #answer(id: unknown, method: string, params: unknown): void {
    const answer = this.#options.onRequest?.(method, params)
    if (answer !== undefined) {
      answer.then(
        (result) => this.#tell({ jsonrpc: '2.0', id, result }),
        (error: unknown) => this.#tell({ jsonrpc: '2.0', id, error: refusalOf(error) }),
      )
      return
    }
    if (method === 'ping') this.#tell({ jsonrpc: '2.0', id, result: {} })
    else if (method === 'roots/list') this.#tell({ jsonrpc: '2.0', id, result: { roots: [] } })
    else {
      const error = { code: METHOD_NOT_FOUND, message: `${method.slice(0, 100)} is not supported` }
      this.#tell({ jsonrpc: '2.0', id, error })
    }
  }

  /** The head of an answer that is too large mostly tells which request it is for; then that one fails, alone. */
  #refuseTooLarge(line: Buffer): boolean {
    const id = ANSWER_HEAD.exec(line.toString('latin1', 0, 256))?.[1]
    const pending = id === undefined ? undefined : this.#pending.get(Number(id))
    pending?.fail(new RequestError('too_large', `The answer to ${pending.method} is larger than ${LIMIT}`))
    return pending !== undefined
  }
}

/** The id of the request is as good a token as any, and nobody else uses it. */
function withToken(params: unknown, progressToken: number): object {
  const given = isObject(params) ? params : {}
  return { ...given, _meta: { ...(isObject(given._meta) ? given._meta : {}), progressToken } }
}

function refusalOf(error: unknown): object {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return { code: typeof code === 'number' ? code : METHOD_NOT_FOUND, message: String(message ?? 'refused') }
}

const LIMIT = `${MESSAGE_MAX_BYTES / 1024 / 1024} MiB`
const ANSWER_HEAD =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,[^{[]*?"(?:result|error)"\s*:/

function secondsOf(ms: number | null): string {
  return `${Number(((ms ?? 0) / 1000).toPrecision(3))} s`
}
