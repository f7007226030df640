import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { LogEntry } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { LogStore, StoredEntry } from './log-store.ts'
import { redactEntry } from './redact.ts'

const FLUSH_MS = 100
/** Upper limit of a batch; the store may allow less in one transaction. */
const BATCH = { lines: 1000, bytes: 256 * 1024 }
/** Limit for lines that wait for a slow store. New lines above it are dropped and counted. */
const MAX_PENDING = { lines: 20_000, bytes: 4 * 1024 * 1024 }
/** More pending lines than this count as a flood. */
const FLOOD_LINES = 1000
/** A batch of this size is not split further on a full disk. */
const SMALL_BATCH = 16

interface Deps {
  readonly store: Pick<LogStore, 'append' | 'maxBatchBytes'>
  readonly secrets: KnownSecrets
  readonly facts: FactBus
  readonly now: () => number
  /** Called with the lines that could not be stored and are not tried again. */
  readonly onLost: (lines: readonly StoredEntry[], error: unknown) => void
}

/** Redacts, batches and stores every log line. Unredacted lines are never kept, not even in memory. */
export class LogPipeline {
  readonly #deps: Deps
  readonly #batchBytes: number
  #pending: StoredEntry[] = []
  #pendingBytes = 0
  /** Lines that the store refused, for the next write. */
  #retry: StoredEntry[] = []
  #dropped = 0
  #failure: { readonly lines: number; readonly why: string } | undefined
  #timer: NodeJS.Timeout | undefined
  /** Counters of lines since the start: added, passed to the store, stored or failed, and requested by a flush. */
  #added = 0
  #sent = 0
  #settled = 0
  #requested = 0
  readonly #flushes: { readonly requested: number; readonly resolve: () => void }[] = []
  #writing = false

  constructor(deps: Deps) {
    this.#deps = deps
    this.#batchBytes = Math.min(BATCH.bytes, deps.store.maxBatchBytes)
  }

  /** Returns false when the line was dropped. Drops are logged, except those of servers, which count their own. */
  push(entry: LogEntry, repeat = 1): boolean {
    if (this.#isFull() && entry.source !== 'audit') {
      if (entry.source !== 'server') this.#dropped += 1
      return false
    }
    const line = redactEntry(entry, this.#deps.secrets, repeat)
    this.#add(line)
    const data = line.data && JSON.parse(line.data)
    this.#deps.facts.publish('log', { ...entry, tool: line.tool ?? null, message: line.message, data })
    if (this.#pending.length >= BATCH.lines || this.#pendingBytes >= this.#batchBytes) this.#startWriting()
    else this.#timer ??= setTimeout(() => this.#startWriting(), FLUSH_MS)
    return true
  }

  /**
   * Resolves when every line pushed before can be read. With a timeout, it resolves at the latest after that time while
   * lines flood in and the store is far behind.
   */
  flush(timeoutMs?: number): Promise<void> {
    this.#startWriting()
    if (this.#settled >= this.#requested) return Promise.resolve()
    const flushed = new Promise<void>((resolve) =>
      this.#flushes.push({ requested: this.#requested, resolve }),
    )
    const inFlood = timeoutMs !== undefined && this.#pending.length > FLOOD_LINES
    return inFlood ? Promise.race([flushed, sleep(timeoutMs)]) : flushed
  }

  /** How many lines could not be stored, and why; undefined since the store accepts lines again. */
  get failure(): string | undefined {
    return this.#failure && `${this.#failure.lines} log lines could not be stored: ${this.#failure.why}`
  }

  #startWriting(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const line of this.#retry.splice(0).reverse()) this.#add(line, 'first')
    if (this.#dropped > 0) this.#add(this.#dropNotice())
    this.#requested = this.#added
    if (!this.#writing) void this.#write()
  }

  #isFull(): boolean {
    return this.#pending.length >= MAX_PENDING.lines || this.#pendingBytes >= MAX_PENDING.bytes
  }

  /**
   * Writes only the lines requested so far: a line about a failing store must not extend the flush in which it fails.
   * Sends the next batch while the previous one is being stored.
   */
  async #write(): Promise<void> {
    this.#writing = true
    let previous = Promise.resolve()
    while (this.#settled < this.#requested) {
      const batch = this.#sent < this.#requested ? this.#nextBatch() : []
      const stored = this.#store(batch)
      await previous
      previous = stored
    }
    this.#writing = false
  }

  async #store(batch: readonly StoredEntry[]): Promise<void> {
    if (batch.length === 0) return
    this.#sent += batch.length
    const { failed, error } = await this.#append(batch)
    this.#retry.push(...failed.filter(isRetried))
    const lost = failed.filter((line) => !isRetried(line))
    const before = this.#failure?.lines ?? 0
    this.#failure = failed.length > 0 ? { lines: before + failed.length, why: whyOf(error) } : undefined
    if (lost.length > 0) this.#deps.onLost(lost, error) // a failing log must not stop the service
    this.#settled += batch.length
    while ((this.#flushes[0]?.requested ?? Infinity) <= this.#settled) this.#flushes.shift()?.resolve()
  }

  /** On a full disk a large transaction may fail where a small one fits. Returns the lines that were not stored. */
  async #append(
    batch: readonly StoredEntry[],
  ): Promise<{ readonly failed: readonly StoredEntry[]; readonly error?: unknown }> {
    let size = batch.length
    for (let at = 0; at < batch.length; ) {
      try {
        await this.#deps.store.append(batch.slice(at, at + size))
        at += size
      } catch (error) {
        const isFull = error instanceof AppError && error.code === 'disk_full'
        if (!isFull || size <= SMALL_BATCH) return { failed: batch.slice(at), error }
        size = Math.ceil(size / 4)
      }
    }
    return { failed: [] }
  }

  #add(line: StoredEntry, place: 'first' | 'last' = 'last'): void {
    this.#added += 1
    if (place === 'first') this.#pending.unshift(line)
    else this.#pending.push(line)
    this.#pendingBytes += bytesOf(line)
  }

  #nextBatch(): StoredEntry[] {
    let bytes = 0
    let lines = 0
    for (const line of this.#pending) {
      const more = bytes + bytesOf(line)
      if (lines >= BATCH.lines || (lines > 0 && more > this.#batchBytes)) break
      bytes = more
      lines += 1
    }
    this.#pendingBytes -= bytes
    return this.#pending.splice(0, lines)
  }

  #dropNotice(): StoredEntry {
    const message = `${this.#dropped} log lines were dropped because the log store was too slow`
    this.#dropped = 0
    return {
      ts: this.#deps.now(),
      level: 'warn',
      source: 'service',
      message,
      data: null,
      repeat: 1,
      truncated: false,
    }
  }
}

/** An audit line, or a line that reports dropped lines of a server, because nothing else reports them. */
const isRetried = ({ source, stream }: StoredEntry): boolean =>
  source === 'audit' || (source === 'server' && stream === null)

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Same estimate as in the store (`batches.ts`), so that a batch is one transaction. */
const bytesOf = ({ message, data }: StoredEntry): number => message.length + (data?.length ?? 0) + 100
