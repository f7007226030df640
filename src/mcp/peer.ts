import type { Readable, Writable } from 'node:stream'
import { type Frame, FrameReader, MESSAGE_MAX_BYTES } from '../kernel/frames.ts'
import { type Message, type RemoteError, readMessage, remoteErrorOf, resultBytes } from './message.ts'

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
}

export interface CallResult {
  readonly value: unknown
  /** As the server wrote it: digits, spaces, order and unknown fields included. */
  readonly json: Buffer
}

interface Options {
  readonly input: Writable
  readonly output: Readable
  /** What stands on stdout and is no message. */
  readonly onNoise: (bytes: Buffer, cut: number) => void
  readonly onNotification: (method: string, params: unknown) => void
}

interface Pending {
  readonly method: string
  readonly fail: (error: RequestError) => void
  readonly succeed: (message: Message, line: Frame) => void
}

/** How much may wait for a server that does not read. */
export const BACKLOG_MAX_BYTES = 16 * 1024 * 1024
const LONGEST_TIMER_MS = 2 ** 31 - 1
const METHOD_NOT_FOUND = -32_601

/** The specification forbids to cancel the first; before a handshake, silence about the second is kinder. */
const NEVER_CANCELLED = ['initialize', 'server/discover']

/**
 * JSON-RPC over the streams of a child: one message a line. Every request gets exactly one outcome. Reading never waits
 * for writing: a server with one thread may be stuck in a write to us, and reads our next line only after it.
 */
export class Peer {
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
    const { input, output } = options
    new FrameReader(output, MESSAGE_MAX_BYTES, (frame) => this.#hear(frame))
    output.on('end', () => this.close('It closed its output'))
    output.on('error', () => this.close('Its output broke'))
    output.on('close', () => this.close('Its output was closed'))
    input.on('error', () => {}) // what was written may still be answered; what comes next is refused
  }

  /** The result, parsed. Rejects with a RequestError and nothing else. */
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

  /** Whoever still waits is told at once. */
  close(reason: string): void {
    if (this.#closed) return
    this.#closed = new RequestError('closed', reason)
    for (const { fail } of [...this.#pending.values()]) fail(this.#closed)
  }

  #ask<T>(
    method: string,
    params: unknown,
    { timeoutMs, signal }: RequestOptions,
    take: (message: Message, line: Frame) => T,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(new RequestError('cancelled', `${method} was cancelled`))
    const id = this.#lastId + 1
    const line = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const refused = this.#refusal(method, line)
    if (refused) return Promise.reject(refused)
    this.#lastId = id
    return new Promise((resolve, reject) => {
      const giveUp = (failure: Failure, reason: string) => {
        fail(new RequestError(failure, reason))
        if (!NEVER_CANCELLED.includes(method))
          this.notify('notifications/cancelled', { requestId: id, reason })
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
      const fail = (error: RequestError) => {
        forget()
        reject(error)
      }
      const succeed = (message: Message, answer: Frame) => {
        forget()
        resolve(take(message, answer))
      }
      this.#pending.set(id, { method, fail, succeed })
      this.#options.input.write(`${line}\n`)
    })
  }

  #tell(message: object): void {
    if (this.#closed) return
    const line = JSON.stringify(message)
    if (this.#refusal('A message', line)) this.droppedMessages += 1
    else this.#options.input.write(`${line}\n`)
  }

  /** Why this line cannot be written now. */
  #refusal(what: string, line: string): RequestError | undefined {
    const { input } = this.#options
    if (this.#closed) return this.#closed
    if (!input.writable) return new RequestError('closed', 'It closed its input')
    if (input.writableLength > BACKLOG_MAX_BYTES)
      return new RequestError('busy', 'It does not read its input')
    const mayBeTooLarge = line.length * 3 > MESSAGE_MAX_BYTES // no character of a string takes more bytes
    if (!mayBeTooLarge || Buffer.byteLength(line) <= MESSAGE_MAX_BYTES) return undefined
    return new RequestError('too_large', `${what} is larger than ${LIMIT}`)
  }

  #hear(frame: Frame): void {
    const { bytes, cut } = frame
    if (cut > 0) {
      if (!this.#refuseTooLarge(bytes)) this.#options.onNoise(bytes, cut)
      return
    }
    const message = readMessage(bytes)
    if (!message) {
      if (bytes.length > 0) this.#options.onNoise(bytes, 0)
      return
    }
    const { id, method } = message
    if (typeof method !== 'string') this.#answered(message, frame)
    else if (id === undefined) this.#options.onNotification(method, message.params)
    else this.#answer(id, method)
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
  #answer(id: unknown, method: string): void {
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

const LIMIT = `${MESSAGE_MAX_BYTES / 1024 / 1024} MiB`
const ANSWER_HEAD =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,[^{[]*?"(?:result|error)"\s*:/

function secondsOf(ms: number | null): string {
  return `${Number(((ms ?? 0) / 1000).toPrecision(3))} s`
}
