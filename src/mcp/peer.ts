import type { Readable, Writable } from 'node:stream'
import { Frames, MESSAGE_MAX_BYTES } from '../kernel/frames.ts'

/** Why a request got no result. `remote` is an answer: the other side said no. */
export type Failure = 'remote' | 'timeout' | 'cancelled' | 'closed' | 'too_large'

export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly failure: Failure
  /** The error as the other side sent it, untouched. */
  readonly remote: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined

  constructor(failure: Failure, message: string, remote?: RequestError['remote']) {
    super(message)
    this.failure = failure
    this.remote = remote
  }
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
  readonly settle: (error: RequestError | undefined, result?: unknown) => void
}

const METHOD_NOT_FOUND = -32_601

/** JSON-RPC over the streams of a child: one message a line. Every request gets exactly one outcome. */
export class Peer {
  readonly #options: Options
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #closed: RequestError | undefined
  /** Messages that name a request we do not know: answered twice, too late, or never asked. */
  strayAnswers = 0

  constructor(options: Options) {
    this.#options = options
    const frames = new Frames(MESSAGE_MAX_BYTES, ({ bytes, cut }) => this.#hear(bytes, cut))
    options.output.on('data', (chunk: Buffer) => frames.push(chunk))
    options.output.on('end', () => {
      frames.end()
      this.close('It closed its output')
    })
    options.output.on('error', () => this.close('Its output broke'))
  }

  /** The result as it came, unknown fields included. Rejects with a RequestError and nothing else. */
  request(
    method: string,
    params: unknown,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (options.signal?.aborted)
      return Promise.reject(new RequestError('cancelled', `${method} was cancelled`))
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      const giveUp = (failure: Failure, message: string) => {
        this.notify('notifications/cancelled', { requestId: id, reason: message })
        this.#pending.get(id)?.settle(new RequestError(failure, message))
      }
      const timer = setTimeout(
        () => giveUp('timeout', `${method} was not answered within ${options.timeoutMs / 1000} s`),
        options.timeoutMs,
      )
      const onAbort = () => giveUp('cancelled', `${method} was cancelled`)
      options.signal?.addEventListener('abort', onAbort, { once: true })
      const settle: Pending['settle'] = (error, result) => {
        clearTimeout(timer)
        options.signal?.removeEventListener('abort', onAbort)
        this.#pending.delete(id)
        if (error) reject(error)
        else resolve(result)
      }
      this.#pending.set(id, { method, settle })
      this.#send({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) })
    })
  }

  notify(method: string, params?: unknown): void {
    this.#send({ jsonrpc: '2.0', method, ...(params !== undefined && { params }) })
  }

  /** Whoever still waits is told at once. */
  close(reason: string): void {
    if (this.#closed) return
    this.#closed = new RequestError('closed', reason)
    for (const { settle } of [...this.#pending.values()]) settle(this.#closed)
  }

  #send(message: object): void {
    if (!this.#closed && this.#options.input.writable)
      this.#options.input.write(`${JSON.stringify(message)}\n`)
  }

  #hear(bytes: Buffer, cut: number): void {
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
    if (typeof method !== 'string') this.#answered(message)
    else if (id === undefined) this.#options.onNotification(method, message.params)
    else this.#answer(id, method)
  }

  #answered({ id, result, error }: Message): void {
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined
    if (!pending) this.strayAnswers += 1
    else if (error === undefined) pending.settle(undefined, result)
    else {
      const remote = error as NonNullable<RequestError['remote']>
      pending.settle(
        new RequestError('remote', String(remote?.message ?? 'It answered with an error'), remote),
      )
    }
  }

  /** What servers ask of us. An id of 0 is an id. */
  #answer(id: unknown, method: string): void {
    if (method === 'ping') this.#send({ jsonrpc: '2.0', id, result: {} })
    else if (method === 'roots/list') this.#send({ jsonrpc: '2.0', id, result: { roots: [] } })
    else
      this.#send({
        jsonrpc: '2.0',
        id,
        error: { code: METHOD_NOT_FOUND, message: `${method} is not supported` },
      })
  }

  /** The head of a message that is too large mostly tells which request it answers; then that one fails, alone. */
  #refuseTooLarge(bytes: Buffer): boolean {
    const head = bytes.subarray(0, 256).toString('latin1')
    const id = /^\s*\{.*?"id"\s*:\s*(\d{1,15})\b/s.exec(head)?.[1]
    const pending = id === undefined ? undefined : this.#pending.get(Number(id))
    const limit = MESSAGE_MAX_BYTES / 1024 / 1024
    pending?.settle(
      new RequestError('too_large', `The answer to ${pending.method} is larger than ${limit} MiB`),
    )
    return pending !== undefined
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** Undefined for everything that is no JSON-RPC message: banners, debug output, half a line. */
function readMessage(bytes: Buffer): Message | undefined {
  if (bytes[0] !== 0x7b && !/^\s*\{/.test(bytes.subarray(0, 64).toString('latin1'))) return undefined
  try {
    const value = JSON.parse(bytes.toString('utf8'))
    return value.jsonrpc === '2.0' ? value : undefined
  } catch {
    return undefined
  }
}
