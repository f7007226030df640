import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/known-secrets.ts'
import type { LogEntry } from '../kernel/log.ts'
import type { LogStore, StoredEntry } from './log-store.ts'
import { storable } from './redact.ts'

const FLUSH_MS = 100
const BATCH = 500
/** Lines that wait for a slow store; beyond it new ones are dropped and counted. */
const MAX_WAITING = 20_000

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
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** False when it was dropped. Whoever counts its lines itself is told here; for the others a line says how many. */
  push(entry: LogEntry, repeat = 1): boolean {
    if (this.#waiting.length >= MAX_WAITING && entry.source !== 'audit') {
      if (entry.source !== 'server') this.#dropped += 1
      return false
    }
    const line = storable(entry, this.#deps.secrets, repeat)
    this.#waiting.push(line)
    this.#deps.facts.publish('log', {
      ...entry,
      message: line.message,
      data: line.data && JSON.parse(line.data),
    })
    if (this.#waiting.length >= BATCH) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
    return true
  }

  /** Resolves when every line that was pushed before can be read. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Only what is there now: a line about a failing store must not keep the flush that it fails in from ending. */
  async #write(): Promise<void> {
    if (this.#dropped > 0) this.#waiting.push(this.#dropNotice())
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#waiting.splice(0, Math.min(left, BATCH))
      left -= batch.length
      try {
        await this.#deps.store.append(batch)
      } catch (error) {
        this.#deps.onLost(batch, error) // a log that cannot be written must not stop the service
        this.#waiting.unshift(...batch.filter(({ source }) => source === 'audit')) // these are tried again
      }
    }
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
