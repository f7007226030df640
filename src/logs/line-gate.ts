import type { Stream } from '../kernel/log.ts'

export interface GateRules {
  readonly ratePerS: number
  readonly burst: number
}

/** 5,000 lines a second and 20,000 at once are more than anybody reads; what floods beyond is counted. */
export const SERVER_GATE: GateRules = { ratePerS: 5000, burst: 20_000 }

/** A line as a server wrote it; `cut` bytes of it are missing. */
export interface Line {
  readonly ts: number
  readonly stream: Stream
  readonly text: string
  readonly cut: number
}

interface Deps {
  readonly rules: GateRules
  /** Monotonic, in milliseconds. */
  readonly clock: () => number
  /** False when it could not be taken: then it counts as dropped. */
  readonly write: (line: Line, repeat: number) => boolean
  /** False when it could not be said: then it is said later, with what comes until then. */
  readonly onDropped: (lines: number) => boolean
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
  #last: { readonly line: Line; repeats: number } | undefined
  #unsaid = 0
  readonly counts = { sent: 0, stored: 0, folded: 0, dropped: 0 }

  constructor(deps: Deps) {
    this.#deps = deps
    this.#tokens = deps.rules.burst
    this.#refilledAt = deps.clock()
  }

  push(line: Line): void {
    this.counts.sent += 1
    if (this.#last && isSame(this.#last.line, line)) {
      this.#last.repeats += 1
      return
    }
    this.#endRun()
    if (!this.#mayPass()) this.#drop(1)
    else if (this.#write(line, 1)) this.#last = { line, repeats: 0 }
  }

  /** Call once a second, and at the end: repeats and drops become lines. */
  flush(): void {
    this.#endRun()
    const unsaid = this.#unsaid
    if (unsaid > 0 && this.#deps.onDropped(unsaid)) this.#unsaid -= unsaid
  }

  /** Dropped lines of which nobody was told yet. */
  get unsaid(): number {
    return this.#unsaid
  }

  /** A line that had passed, so many times, and was lost behind the gate. */
  lost(repeat: number): void {
    this.counts.stored -= 1
    this.counts.folded -= repeat - 1
    this.#drop(repeat)
  }

  /** The first of a run was written when it came; the others follow as one line with their number. */
  #endRun(): void {
    const run = this.#last
    this.#last = undefined
    if (!run || run.repeats === 0) return
    this.#tokens -= 1 // never refused, but paid for by the next line
    if (this.#write(run.line, run.repeats)) this.counts.folded += run.repeats - 1
  }

  #write(line: Line, repeat: number): boolean {
    const written = this.#deps.write(line, repeat)
    if (written) this.counts.stored += 1
    else this.#drop(repeat)
    return written
  }

  #drop(lines: number): void {
    this.counts.dropped += lines
    this.#unsaid += lines
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

const isSame = (a: Line, b: Line): boolean => a.text === b.text && a.stream === b.stream && a.cut === b.cut
