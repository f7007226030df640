import type { LogEntry } from '../kernel/log.ts'

export interface GateRules {
  readonly ratePerS: number
  readonly burst: number
}

/** 5,000 lines a second and 20,000 at once are more than anybody reads; what floods beyond is counted. */
export const SERVER_GATE: GateRules = { ratePerS: 5000, burst: 20_000 }

interface Deps {
  readonly rules: GateRules
  /** Monotonic, in milliseconds. */
  readonly clock: () => number
  readonly write: (entry: LogEntry, repeat: number) => void
}

/**
 * The lines of one server on their way into the log. A line that comes again in a row is stored once more with the
 * number of times; what comes faster than the rules allow is dropped and counted. Nothing is lost without a count:
 * stored + folded + dropped = sent, at any time after `flush`.
 */
export class LineGate {
  readonly #deps: Deps
  #tokens: number
  #refilledAt: number
  #last: { readonly entry: LogEntry; repeats: number } | undefined
  #droppedSinceNotice = 0
  readonly counts = { sent: 0, stored: 0, folded: 0, dropped: 0 }

  constructor(deps: Deps) {
    this.#deps = deps
    this.#tokens = deps.rules.burst
    this.#refilledAt = deps.clock()
  }

  push(entry: LogEntry): void {
    this.counts.sent += 1
    if (this.#last && isSame(this.#last.entry, entry)) {
      this.#last.repeats += 1
      return
    }
    this.#endRun()
    if (!this.#mayPass()) {
      this.counts.dropped += 1
      this.#droppedSinceNotice += 1
      return
    }
    this.#write(entry, 1)
    this.#last = { entry, repeats: 0 }
  }

  /** Call once a second, and at the end: repeats and drops become lines. */
  flush(now: number): void {
    this.#endRun()
    if (this.#droppedSinceNotice === 0) return
    const message = `${this.#droppedSinceNotice} lines were dropped because there were too many`
    const { server_id = null } = this.#lastSeen ?? {}
    this.#droppedSinceNotice = 0
    this.#deps.write({ ts: now, level: 'warn', source: 'server', server_id, message }, 1)
  }
  #lastSeen: LogEntry | undefined

  /** The first of a run was written when it came; the others follow as one line with their number. */
  #endRun(): void {
    const run = this.#last
    this.#last = undefined
    if (!run || run.repeats === 0) return
    this.#write(run.entry, run.repeats)
    this.counts.folded += run.repeats - 1
  }

  #write(entry: LogEntry, repeat: number): void {
    this.#lastSeen = entry
    this.counts.stored += 1
    this.#deps.write(entry, repeat)
  }

  #mayPass(): boolean {
    const { ratePerS, burst } = this.#deps.rules
    const now = this.#deps.clock()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / 1000) * ratePerS)
    this.#refilledAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}

const isSame = (a: LogEntry, b: LogEntry): boolean =>
  a.message === b.message && a.level === b.level && a.stream === b.stream
