import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import type { FactBus } from '../../kernel/fact-bus.ts'
import type { LogEntry, LoggedLine } from '../../kernel/log.ts'
import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'
import type { LogStore, StoredEntry } from './log-store.ts'

const FLUSH_MS = 100
/** Upper limit of a batch; the store may allow less in one transaction. */
const BATCH = { lines: 1000, bytes: 256 * 1024 }
/** Limit for lines that wait for a slow store. New lines above it are dropped and counted. */
const MAX_PENDING = { lines: 20_000, bytes: 4 * 1024 * 1024 }
/** More pending lines than this count as a flood. */
const FLOOD_LINES = 1000
/** Limits of one line. */
const MAX_MESSAGE_BYTES = 64 * 1024
const MAX_DATA_BYTES = 64 * 1024
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
  /** Lines that report dropped lines, until they are stored. */
  readonly #dropNotices = new Set<StoredEntry>()
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
    this.#add(redactEntry(entry, this.#deps.secrets, repeat))
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
    const isRetried = (line: StoredEntry) => mustBeStored(line) || this.#dropNotices.has(line)
    this.#retry.push(...failed.filter(isRetried))
    const lost = failed.filter((line) => !isRetried(line))
    const before = this.#failure?.lines ?? 0
    this.#failure = failed.length > 0 ? { lines: before + failed.length, why: whyOf(error) } : undefined
    this.#publish(lost, null)
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
      const part = batch.slice(at, at + size)
      try {
        this.#publish(part, await this.#deps.store.append(part))
        at += size
      } catch (error) {
        const isFull = error instanceof AppError && error.code === 'disk_full'
        if (!isFull || size <= SMALL_BATCH) return { failed: batch.slice(at), error }
        size = Math.ceil(size / 4)
      }
    }
    return { failed: [] }
  }

  /** After a line is stored, so that a client can find it by its id. `firstId` is null for lines that are lost. */
  #publish(lines: readonly StoredEntry[], firstId: number | null): void {
    const { facts } = this.#deps
    if (firstId !== null && this.#dropNotices.size > 0)
      for (const line of lines) this.#dropNotices.delete(line)
    if (!facts.hasListeners('log')) return
    for (const [index, line] of lines.entries())
      facts.publish('log', loggedLine(line, firstId === null ? null : firstId + index))
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
    const entry = { ts: this.#deps.now(), level: 'warn', source: 'service', message } as const
    const notice = redactEntry(entry, this.#deps.secrets)
    this.#dropNotices.add(notice)
    return notice
  }
}

/** Removes terminal sequences, masks known secrets, then text that looks like a secret, and cuts the line to size. */
export function redactEntry(entry: LogEntry, secrets: KnownSecrets, repeat = 1): StoredEntry {
  const clean = (text: string) => redactText(text, secrets)
  const missing = entry.cut ?? 0
  const message = missing > 0 ? clean(`${entry.message}…`).slice(0, -1) : clean(entry.message)
  const { text, truncated } = cut(message, missing)
  // Every field by name: object spread takes three times the memory, and thousands of lines may wait.
  return {
    ts: entry.ts,
    level: entry.level,
    source: entry.source,
    stream: entry.stream ?? null,
    server_id: entry.server_id ?? null,
    agent_type: entry.agent_type ?? null,
    tool: entry.tool ? clean(entry.tool) : null,
    request_id: entry.request_id ?? null,
    message: text,
    data: dataText(entry.data, clean, secrets),
    repeat,
    truncated,
  }
}

/** Limits the bytes of a message and appends how many are missing. */
function cut(message: string, before: number): { text: string; truncated: boolean } {
  if (before === 0 && message.length <= MAX_MESSAGE_BYTES / 3) return { text: message, truncated: false } // at most 3 bytes per UTF-16 unit
  const bytes = Buffer.from(message, 'utf8')
  if (before === 0 && bytes.length <= MAX_MESSAGE_BYTES) return { text: message, truncated: false }
  const note = (missing: number) => ` … (${missing} bytes cut)`
  const room = MAX_MESSAGE_BYTES - Buffer.byteLength(note(bytes.length + before))
  // A character split by the cut becomes U+FFFD, which can be longer than the remaining bytes.
  const kept = bytes
    .subarray(0, room - 3)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  return { text: kept + note(before + bytes.length - Buffer.byteLength(kept)), truncated: true }
}

function dataText(
  data: LogEntry['data'],
  clean: (text: string) => string,
  secrets: KnownSecrets,
): string | null {
  if (!data) return null
  const replacer = (_: string, value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    return typeof value === 'bigint' ? String(value) : value
  }
  try {
    const text = secrets.redact(JSON.stringify(data, replacer)) // keys may contain secrets too
    JSON.parse(text)
    if (Buffer.byteLength(text) <= MAX_DATA_BYTES) return text
    const { audit_id } = data // marks this audit row as present in the log
    return JSON.stringify({
      ...(typeof audit_id === 'number' && { audit_id }),
      cut: 'the data was larger than 64 KiB',
    })
  } catch {
    return JSON.stringify({ cut: 'the data could not be written as JSON' }) // a cycle
  }
}

const loggedLine = (line: StoredEntry, id: number | null): LoggedLine => ({
  id,
  ...line,
  data: line.data === null ? null : JSON.parse(line.data),
})

/** An audit line, or a line that reports dropped lines of a server, because nothing else reports them. */
const mustBeStored = ({ source, stream }: StoredEntry): boolean =>
  source === 'audit' || (source === 'server' && stream === null)

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Same estimate as in the store (`batches.ts`), so that a batch is one transaction. */
const bytesOf = ({ message, data }: StoredEntry): number => message.length + (data?.length ?? 0) + 100

const REPORT_EVERY_MS = 10 * 60_000
/** Fewer are not reported again before the end: the report itself is a line that may displace another one. */
const REPORT_FROM = 100

/**
 * Counts log lines that were lost, a repeated line as often as it was written, and reports their number: the first at
 * once, then every ten minutes, and the rest at the end.
 */
export class LostLines {
  readonly #report: (lines: number, why: string) => void
  readonly #clock: () => number
  #unreported = 0
  #why = ''
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(report: (lines: number, why: string) => void, clock = () => performance.now()) {
    this.#report = report
    this.#clock = clock
  }

  add(lines: number, why: string): void {
    this.#unreported += lines
    this.#why = why
    const isFirst = this.#reportedAt === Number.NEGATIVE_INFINITY
    const isDue = this.#clock() - this.#reportedAt >= REPORT_EVERY_MS
    if (isDue && (isFirst || this.#unreported >= REPORT_FROM)) this.flush()
  }

  /** Reports what is not reported yet. */
  flush(): void {
    if (this.#unreported === 0) return
    const lines = this.#unreported
    this.#unreported = 0
    this.#reportedAt = this.#clock()
    this.#report(lines, this.#why)
  }
}
