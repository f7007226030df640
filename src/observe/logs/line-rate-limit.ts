import type { Stream } from '../../kernel/log.ts'

export interface RateRules {
  readonly ratePerS: number
  /** How many lines may exceed the rate at once. */
  readonly burst: number
}

/** Lines above this rate are dropped and counted. */
export const SERVER_RATE: RateRules = { ratePerS: 5000, burst: 20_000 }

export interface Line {
  readonly ts: number
  readonly stream: Stream
  readonly text: string
  /** How many bytes are missing at the end. */
  readonly cut: number
  readonly instance?: string | undefined
}

interface Deps {
  readonly rules: RateRules
  /** Monotonic, in milliseconds. */
  readonly clock: () => number
  /** Returns false when the line was not accepted; it then counts as dropped. */
  readonly write: (line: Line, repeat: number) => boolean
  /** Returns false when the notice was not accepted; the next flush repeats it with the new total. */
  readonly onDropped: (lines: number) => boolean
}

/**
 * Limits the lines that one server adds to the log. Identical consecutive lines are stored as the first line plus one
 * line with a repeat count. Lines above the rate limit are dropped and counted. After `flush`, every line is either
 * written, part of a repeat count, or counted as dropped.
 */
export class LineRateLimit {
  readonly #deps: Deps
  #tokens: number
  #refilledAt: number
  #last: { readonly line: Line; repeats: number } | undefined
  #dropped = 0
  #unreported = 0

  constructor(deps: Deps) {
    this.#deps = deps
    this.#tokens = deps.rules.burst
    this.#refilledAt = deps.clock()
  }

  push(line: Line): void {
    if (this.#last && isSame(this.#last.line, line)) {
      this.#last.repeats += 1
      return
    }
    this.#endRun()
    if (!this.#takeToken()) this.drop(1)
    else if (this.#write(line, 1)) this.#last = { line, repeats: 0 }
  }

  /** Writes pending repeats and reports drops. Call once a second, and at the end. */
  flush(): void {
    this.#endRun()
    const unreported = this.#unreported
    if (unreported > 0 && this.#deps.onDropped(unreported)) this.#unreported -= unreported
  }

  /** Lines dropped since the limit was created. */
  get dropped(): number {
    return this.#dropped
  }

  /** Dropped lines that `onDropped` has not accepted yet. */
  get unreported(): number {
    return this.#unreported
  }

  /** Counts lines as dropped, also after `write` accepted them. */
  drop(lines: number): void {
    this.#dropped += lines
    this.#unreported += lines
  }

  /** Counts lines that were stored and then lost, without a notice: it would displace another line. */
  lose(lines: number): void {
    this.#dropped += lines
  }

  /** The first line of a run was written at once; the rest becomes one line with a repeat count. */
  #endRun(): void {
    const run = this.#last
    this.#last = undefined
    if (!run || run.repeats === 0) return
    this.#tokens -= 1 // always allowed, at the expense of the next line
    this.#write(run.line, run.repeats)
  }

  #write(line: Line, repeat: number): boolean {
    const written = this.#deps.write(line, repeat)
    if (!written) this.drop(repeat)
    return written
  }

  #takeToken(): boolean {
    const { ratePerS, burst } = this.#deps.rules
    const now = this.#deps.clock()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / 1000) * ratePerS)
    this.#refilledAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}

const isSame = (a: Line, b: Line): boolean =>
  a.text === b.text && a.stream === b.stream && a.cut === b.cut && a.instance === b.instance
