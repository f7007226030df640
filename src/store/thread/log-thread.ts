import type {
  AuditIds,
  DownloadRequest,
  Histogram,
  HistogramRequest,
  LogStore,
  Page,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../observe/logs/log-store.ts'
import { downloadChunks } from '../logs/read/download.ts'
import { sizesFor } from '../logs/write/log-space.ts'
import { batches } from '../logs/write/split-into-batches.ts'
import type { StoreThread } from './store-thread.ts'

/** Limits one message, so that a batch of long lines is not in memory several times. */
const MESSAGE_BYTES = 1024 * 1024

/** The log store in the store thread. Pages overtake pending appends. */
export class LogThread implements LogStore {
  readonly #thread: StoreThread
  readonly maxBatchBytes: number

  constructor(thread: StoreThread, maxBytes: number) {
    this.#thread = thread
    this.maxBatchBytes = sizesFor(maxBytes).step
  }

  async append(entries: readonly StoredEntry[]): Promise<number> {
    const parts = [...batches(entries, MESSAGE_BYTES)]
    const sent = parts.map((batch) => this.#thread.call('logs', 'append', [batch.entries]))
    const [first = 0] = await Promise.all(sent)
    return first
  }

  page(request: PageRequest): Promise<Page> {
    return this.#thread.call('logs', 'page', [request])
  }

  histogram(request: HistogramRequest): Promise<Histogram> {
    return this.#thread.call('logs', 'histogram', [request])
  }

  oldest(): Promise<number | null> {
    return this.#thread.call('logs', 'oldest', [])
  }

  download(request: DownloadRequest): AsyncIterable<Uint8Array> {
    return downloadChunks(request, (chunk) => this.#thread.call('logs', 'chunk', [chunk]))
  }

  clear(filter: ResolvedFilter): Promise<number> {
    return this.#thread.call('logs', 'clear', [filter])
  }

  auditIds(): Promise<AuditIds> {
    return this.#thread.call('logs', 'auditIds', [])
  }

  check(): Promise<void> {
    return this.#thread.call('logs', 'check', [])
  }

  /** Ends the thread, and so closes the other stores in it, too. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
