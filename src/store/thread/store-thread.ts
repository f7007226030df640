import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { AppError } from '../../kernel/errors.ts'
import type { LogOptions } from '../logs/sqlite-log-store.ts'
import {
  type Arguments,
  errorOf,
  type Message,
  type Operation,
  type Request,
  type Result,
  type Setup,
  type StoreName,
} from './thread-messages.ts'

export interface ThreadOptions extends Setup, Pick<LogOptions, 'onDamaged' | 'onDiscarded' | 'onError'> {
  /** The bundled `worker.ts`. */
  readonly workerUrl: URL
}

interface Pending {
  readonly request: Request
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

const BACKOFF = { firstMs: 100, maxMs: 10_000 }
const CLOSE_WITHIN_MS = 10_000
/** A thread takes as much CPU to start as a process, and the first tool servers are starting. What is stored meanwhile waits. */
const START_AFTER_MS = 200

/** The worker thread of the log and of the call history. Calls start there in the order in which they are made. */
export class StoreThread {
  readonly #options: ThreadOptions
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #restart: NodeJS.Timeout | undefined
  #backoffMs = BACKOFF.firstMs
  #lastId = 0
  #hasStarted = false
  #closing: Promise<void> | undefined

  constructor(options: ThreadOptions) {
    this.#options = options
    this.#restart = setTimeout(() => this.#start(), START_AFTER_MS)
  }

  /** Without the delay: what is stored will be read. */
  start(): void {
    if (!this.#hasStarted) this.#start()
  }

  call<S extends StoreName, O extends Operation<S>>(
    store: S,
    operation: O,
    args: Arguments<S, O>,
  ): Promise<Result<S, O>> {
    if (this.#closing !== undefined)
      return Promise.reject(new AppError('shutting_down', 'The log and the call history are closed'))
    return this.#post(store, operation, args as readonly unknown[]) as Promise<Result<S, O>>
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#restart)
    if (!this.#hasStarted && this.#pending.size > 0) this.#start()
    const worker = this.#worker
    if (worker) {
      const closed = this.#post('calls', 'close', [])
        .catch(() => {}) // the log is closed anyway
        .then(() => this.#post('logs', 'close', []))
      const late = new AbortController()
      await Promise.race([closed.catch(() => {}), delay(CLOSE_WITHIN_MS, null, { signal: late.signal })])
      late.abort()
      await worker.terminate()
    }
    this.#rejectAll(new AppError('shutting_down', 'The log and the call history are closed'))
  }

  #post(store: StoreName, operation: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      const request: Request = { id: this.#lastId, store, operation, args }
      this.#pending.set(request.id, { request, resolve, reject })
      this.#worker?.postMessage(request) // without a worker, `#start` posts it
    })
  }

  #start(): void {
    clearTimeout(this.#restart)
    this.#hasStarted = true
    const { logs, calls, workerUrl } = this.#options
    const setup: Setup = { logs, calls }
    const worker = new Worker(workerUrl, {
      name: 'toolroom-store',
      workerData: setup,
      execArgv: [],
      // Enough for a page of the longest lines. SQLite's own memory is outside of this heap.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    let reason: Error | undefined
    worker.on('message', (message: Message) => this.#receive(message))
    worker.on('error', (error) => {
      reason = error instanceof Error ? error : new Error(String(error))
    })
    worker.on('exit', (code) => {
      if (worker === this.#worker) this.#onExit(reason ?? new Error(`exit code ${code}`))
    })
    for (const { request } of this.#pending.values()) worker.postMessage(request)
  }

  #receive(message: Message): void {
    switch (message.kind) {
      case 'damaged':
        this.#options.onDamaged(message.message)
        return
      case 'discarded':
        this.#options.onDiscarded?.(message.lines)
        return
      case 'error':
        this.#options.onError(errorOf(message.failure))
        return
      case 'failure':
        this.#take(message.id)?.reject(errorOf(message.failure))
        return
      case 'result':
        this.#take(message.id)?.resolve(message.result)
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    this.#backoffMs = BACKOFF.firstMs
    return pending
  }

  /** Rejects pending calls instead of repeating them: the ended thread may have carried them out. */
  #onExit(cause: Error): void {
    this.#worker = undefined
    if (this.#closing !== undefined) return
    const error = new AppError('internal_error', `The store thread has ended: ${cause.message}`, { cause })
    this.#rejectAll(error)
    this.#restart = setTimeout(() => this.#start(), this.#backoffMs)
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF.maxMs)
    this.#options.onError(error)
  }

  #rejectAll(error: Error): void {
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(error)
  }
}
