import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { AppError } from '../../../kernel/errors.ts'
import type {
  AuditIds,
  DownloadRequest,
  Histogram,
  HistogramRequest,
  LogStore,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../../logs/log-store.ts'
import { downloadChunks } from '../read/download.ts'
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
/** Limits one message, so that a batch of long lines is not in memory several times. */
const MESSAGE_BYTES = 1024 * 1024

/** The log store in a worker thread. Calls start there in the order in which they are made, but pages overtake pending appends. */
export class LogThread implements LogStore {
  readonly #options: ThreadOptions
  readonly #pending = new Map<number, Pending>()
  readonly maxBatchBytes: number
  #worker: Worker | undefined
  #restart: NodeJS.Timeout | undefined
  #backoffMs = BACKOFF.firstMs
  #lastId = 0
  #closing: Promise<void> | undefined

  constructor(options: ThreadOptions) {
    this.#options = options
    this.maxBatchBytes = sizesFor(options.maxBytes).step
    this.#start()
  }

  async append(entries: readonly StoredEntry[]): Promise<number> {
    const sent = [...batches(entries, MESSAGE_BYTES)].map((batch) => this.#call('append', batch.entries))
    const [first = 0] = await Promise.all(sent)
    return first
  }

  page(request: PageRequest): Promise<Result<'page'>> {
    return this.#call('page', request)
  }

  histogram(request: HistogramRequest): Promise<Histogram> {
    return this.#call('histogram', request)
  }

  oldest(): Promise<number | null> {
    return this.#call('oldest')
  }

  download(request: DownloadRequest): AsyncIterable<Uint8Array> {
    return downloadChunks(request, (chunk) => this.#call('chunk', chunk))
  }

  clear(filter: ResolvedFilter): Promise<number> {
    return this.#call('clear', filter)
  }

  auditIds(): Promise<AuditIds> {
    return this.#call('auditIds')
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
      this.#worker?.postMessage(request) // without a worker, `#start` posts it
    })
  }

  #start(): void {
    const { path, maxBytes, workerUrl } = this.#options
    const worker = new Worker(workerUrl, {
      name: 'toolroom-logs',
      workerData: { path, maxBytes },
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
    const error = new AppError('internal_error', `The log thread has ended: ${cause.message}`, { cause })
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
