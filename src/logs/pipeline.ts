import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/known-secrets.ts'
import type { LogEntry } from '../kernel/log.ts'
import type { LogStore, StoredEntry } from './log-store.ts'
import { storable } from './redact.ts'

const FLUSH_MS = 100
/** What is stored at a time: so much is written in one transaction, whatever the store, so all of it or nothing. */
const BATCH = { lines: 500, bytes: 64 * 1024 }
/** What may wait for a slow store; beyond it new lines are dropped and counted. */
const MOST_WAITING = { lines: 20_000, bytes: 8 * 1024 * 1024 }

interface Deps {
  readonly store: Pick<LogStore, 'append'>
  readonly secrets: KnownSecrets
  readonly facts: FactBus
  readonly now: () => number
  /** For what the log itself cannot hold. */
  readonly onLost: (lines: readonly StoredEntry[], error: unknown) => void
}

/** Every line of the house takes this way: redact, collect, store. Nothing unredacted is kept, not even in memory. */
export class LogPipeline {
  readonly #deps: Deps
  #waiting: StoredEntry[] = []
  #waitingBytes = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  /** A flush that has not begun: it will take what comes until then. */
  #next: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
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
    if (this.#waiting.length >= BATCH.lines) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
    return true
  }

  /** Resolves when every line that was pushed before can be read. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      return this.#write()
    })
    this.#writing = this.#next
    return this.#next
  }

  #isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING.lines || this.#waitingBytes >= MOST_WAITING.bytes
  }

  /** Only what is there now: a line about a failing store must not keep the flush that it fails in from ending. */
  async #write(): Promise<void> {
    if (this.#dropped > 0) this.#wait(this.#dropNotice())
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#nextBatch(left)
      left -= batch.length
      try {
        await this.#deps.store.append(batch)
      } catch (error) {
        const again = batch.filter((line) => line.source === 'audit' || isNotice(line))
        this.#waiting.unshift(...again)
        this.#waitingBytes += sum(again)
        this.#deps.onLost(batch.filter((line) => !isNotice(line)), error) // a log that cannot be written must not stop the service
      }
    }
  }

  #wait(line: StoredEntry): void {
    this.#waiting.push(line)
    this.#waitingBytes += bytesOf(line)
  }

  #nextBatch(most: number): StoredEntry[] {
    let bytes = 0
    let lines = 0
    for (const line of this.#waiting) {
      const more = bytes + bytesOf(line)
      if (lines > 0 && (lines >= Math.min(most, BATCH.lines) || more > BATCH.bytes)) break
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
const isNotice = ({ source, stream }: StoredEntry): boolean => source === 'server' && stream === undefined

/** About what it takes; as the store reckons, or a batch could become two transactions. */
const bytesOf = ({ message, data }: StoredEntry): number => message.length + (data?.length ?? 0) + 100
const sum = (lines: readonly StoredEntry[]): number => lines.reduce((bytes, line) => bytes + bytesOf(line), 0)
