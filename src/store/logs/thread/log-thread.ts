import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { AppError } from '../../../kernel/errors.ts'
import type {
  DownloadRequest,
  LogStore,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../../logs/log-store.ts'
import { pieces } from '../read/pieces.ts'
import type { LogOptions } from '../sqlite-log-store.ts'
import { batches } from '../write/batches.ts'
import { sizesFor } from '../write/space.ts'
import {
  type Arguments,
  errorOf,
  type Message,
  type Operation,
  type Request,
  type Result,
} from './messages.ts'

interface ThreadOptions extends LogOptions {
  /** The bundled `log-worker.ts`. */
  readonly workerUrl: URL
}

interface Pending {
  readonly request: Request
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

const BACKOFF = { firstMs: 100, mostMs: 10_000 }
const CLOSE_WITHIN_MS = 10_000
/** What one message carries, so that neither thread holds a batch of the longest lines several times over. */
const MESSAGE_BYTES = 1024 * 1024

/** The log store in its own thread, which starts calls in the order in which they were made; pages overtake pending lines. */
export class LogThread implements LogStore {
  readonly #options: ThreadOptions
  readonly #pending = new Map<number, Pending>()
  readonly atOnceBytes: number
  #worker: Worker | undefined
  #restart: NodeJS.Timeout | undefined
  #backoffMs = BACKOFF.firstMs
  #lastId = 0
  #closing: Promise<void> | undefined

  constructor(options: ThreadOptions) {
    this.#options = options
    this.atOnceBytes = sizesFor(options.maxBytes).step
    this.#start()
  }

  async append(entries: readonly StoredEntry[]): Promise<void> {
    const sent = [...batches(entries, MESSAGE_BYTES)].map((batch) => this.#call('append', batch.entries))
    await Promise.all(sent)
  }

  page(request: PageRequest): Promise<Result<'page'>> {
    return this.#call('page', request)
  }

  download(request: DownloadRequest): AsyncIterable<Uint8Array> {
    return pieces(request, (piece) => this.#call('piece', piece))
  }

  clear(filter: ResolvedFilter): Promise<number> {
    return this.#call('clear', filter)
  }

  lastAuditId(): Promise<number> {
    return this.#call('lastAuditId')
  }

  check(): Promise<void> {
    return this.#call('check')
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#restart)
    const worker = this.#worker
    if (worker) {
      const closed = this.#post('close', [])
      const late = new AbortController()
      await Promise.race([closed.catch(() => {}), delay(CLOSE_WITHIN_MS, null, { signal: late.signal })])
      late.abort()
      await worker.terminate()
    }
    this.#rejectAll(new AppError('shutting_down', 'The log is closed'))
  }

  #call<O extends Operation>(operation: O, ...args: Arguments<O>): Promise<Result<O>> {
    if (this.#closing !== undefined) return Promise.reject(new AppError('shutting_down', 'The log is closed'))
    return this.#post(operation, args)
  }

  #post<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      const request: Request = { id: this.#lastId, operation, args }
      this.#pending.set(request.id, { request, resolve: resolve as (result: unknown) => void, reject })
      this.#worker?.postMessage(request) // otherwise it goes out when the next thread starts
    })
  }

  #start(): void {
    const { path, maxBytes, workerUrl } = this.#options
    const worker = new Worker(workerUrl, {
      name: 'toolroom-logs',
      workerData: { path, maxBytes },
      execArgv: [],
      // Enough for a page of the longest lines. Lines themselves live in SQLite, outside of this heap.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    let reason: Error | undefined
    worker.on('message', (message: Message) => this.#hear(message))
    worker.on('error', (error) => {
      reason = error instanceof Error ? error : new Error(String(error))
    })
    worker.on('exit', (code) => {
      if (worker === this.#worker) this.#ended(reason ?? new Error(`it ended with code ${code}`))
    })
    for (const { request } of this.#pending.values()) worker.postMessage(request)
  }

  #hear(message: Message): void {
    switch (message.kind) {
      case 'damaged':
        this.#options.onDamaged(message.message)
        return
      case 'trouble':
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

  /** What was under way may or may not have been done, so nothing is sent again; whoever waits is told. */
  #ended(cause: Error): void {
    this.#worker = undefined
    if (this.#closing !== undefined) return
    const error = new AppError('internal_error', `The log's thread has ended: ${cause.message}`, { cause })
    this.#rejectAll(error)
    this.#restart = setTimeout(() => this.#start(), this.#backoffMs)
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF.mostMs)
    this.#options.onError(error)
  }

  #rejectAll(error: Error): void {
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(error)
  }
}
