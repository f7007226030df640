import { setTimeout as sleep } from 'node:timers/promises'
import type { FactBus } from '../kernel/facts.ts'
import type { LogEntry } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { LogStore, StoredEntry } from './log-store.ts'
import { storable } from './redact.ts'

const FLUSH_MS = 100
/** What is stored at a time, unless the store can take only less in one transaction. */
const BATCH = { lines: 1000, bytes: 256 * 1024 }
/** What may wait for a slow store; beyond it new lines are dropped and counted. */
const MOST_WAITING = { lines: 20_000, bytes: 4 * 1024 * 1024 }
/** More lines than anybody but a flood writes while a batch is stored. */
const FLOOD_LINES = 1000

interface Deps {
  readonly store: Pick<LogStore, 'append' | 'atOnceBytes'>
  readonly secrets: KnownSecrets
  readonly facts: FactBus
  readonly now: () => number
  /** For what the log itself cannot hold. */
  readonly onLost: (lines: readonly StoredEntry[], error: unknown) => void
}

/** Every line of the house takes this way: redact, collect, store. Nothing unredacted is kept, not even in memory. */
export class LogPipeline {
  readonly #deps: Deps
  readonly #batchBytes: number
  #waiting: StoredEntry[] = []
  #waitingBytes = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  /** Lines since the beginning: that came to wait, were sent to the store, were answered; and how many somebody wants. */
  #came = 0
  #sent = 0
  #settled = 0
  #wanted = 0
  readonly #readers: { readonly wanted: number; readonly resolve: () => void }[] = []
  #writing = false

  constructor(deps: Deps) {
    this.#deps = deps
    this.#batchBytes = Math.min(BATCH.bytes, deps.store.atOnceBytes)
  }

  /** False when it was dropped. Whoever counts its lines itself is told here; for the others a line says how many. */
  push(entry: LogEntry, repeat = 1): boolean {
    if (this.#isFull() && entry.source !== 'audit') {
      if (entry.source !== 'server') this.#dropped += 1
      return false
    }
    const line = storable(entry, this.#deps.secrets, repeat)
    this.#wait(line)
    const data = line.data && JSON.parse(line.data)
    this.#deps.facts.publish('log', { ...entry, message: line.message, data })
    if (this.#waiting.length >= BATCH.lines || this.#waitingBytes >= this.#batchBytes) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), FLUSH_MS)
    return true
  }

  /**
   * Resolves when every line that was pushed before can be read, whatever comes meanwhile. While lines flood in and the
   * store is far behind, who cannot wait for it is let go after so many milliseconds.
   */
  flush(patienceMs?: number): Promise<void> {
    this.#begin()
    if (this.#settled >= this.#wanted) return Promise.resolve()
    const flushed = new Promise<void>((resolve) => this.#readers.push({ wanted: this.#wanted, resolve }))
    const inFlood = patienceMs !== undefined && this.#waiting.length > FLOOD_LINES
    return inFlood ? Promise.race([flushed, sleep(patienceMs)]) : flushed
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#dropped > 0) this.#wait(this.#dropNotice())
    this.#wanted = this.#came
    if (!this.#writing) void this.#write()
  }

  #isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING.lines || this.#waitingBytes >= MOST_WAITING.bytes
  }

  /**
   * Only what is wanted now: a line about a failing store must not keep the flush that it fails in from ending. The next
   * batch is on its way while one is stored, so that the store need not wait for us.
   */
  async #write(): Promise<void> {
    this.#writing = true
    const again: StoredEntry[] = []
    let before = Promise.resolve()
    while (this.#settled < this.#wanted) {
      const batch = this.#sent < this.#wanted ? this.#nextBatch() : []
      const stored = this.#store(batch, again)
      await before
      before = stored
    }
    this.#writing = false
    this.#waiting.unshift(...again)
    this.#came += again.length
    for (const line of again) this.#waitingBytes += bytesOf(line)
  }

  async #store(batch: readonly StoredEntry[], again: StoredEntry[]): Promise<void> {
    if (batch.length === 0) return
    this.#sent += batch.length
    try {
      await this.#deps.store.append(batch)
    } catch (error) {
      again.push(...batch.filter((line) => line.source === 'audit' || isNotice(line)))
      const lost = batch.filter((line) => !isNotice(line))
      if (lost.length > 0) this.#deps.onLost(lost, error) // a log that cannot be written must not stop the service
    }
    this.#settled += batch.length
    while ((this.#readers[0]?.wanted ?? Infinity) <= this.#settled) this.#readers.shift()?.resolve()
  }

  #wait(line: StoredEntry): void {
    this.#came += 1
    this.#waiting.push(line)
    this.#waitingBytes += bytesOf(line)
  }

  #nextBatch(): StoredEntry[] {
    let bytes = 0
    let lines = 0
    for (const line of this.#waiting) {
      const more = bytes + bytesOf(line)
      if (lines >= BATCH.lines || (lines > 0 && more > this.#batchBytes)) break
      bytes = more
      lines += 1
    }
    this.#waitingBytes -= bytes
    return this.#waiting.splice(0, lines)
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

/** That lines of a server are missing, which is said nowhere else, so that it is tried again. */
const isNotice = ({ source, stream }: StoredEntry): boolean => source === 'server' && stream === null

/** About what it takes; as the store reckons, or a batch could become two transactions. */
const bytesOf = ({ message, data }: StoredEntry): number => message.length + (data?.length ?? 0) + 100
