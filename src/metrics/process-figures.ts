import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

export interface ProcessFigures {
  /** Of one core, over the last seconds. */
  readonly cpu_pct: number
  readonly rss_bytes: number
  /** How much later than asked a timer fires, at worst but for one in a hundred. */
  readonly event_loop_lag_ms: number
}

const SAMPLE_EVERY_MS = 5000
/** Rarely enough to cost nothing while the service is idle. */
const LOOK_EVERY_MS = 100

/** Looks at our own process every few seconds; whoever asks gets the last finding. */
export class ProcessSampler {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS })
  readonly #timer: NodeJS.Timeout
  #cpu = process.cpuUsage()
  #at = performance.now()
  #found = { cpu_pct: 0, event_loop_lag_ms: 0 }

  constructor() {
    this.#delays.enable()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS).unref()
  }

  /** Memory as it is now, the rest as it was in the last few seconds. */
  figures(): ProcessFigures {
    if (performance.now() - this.#at > SAMPLE_EVERY_MS / 5 && this.#found.cpu_pct === 0) this.#sample()
    return { ...this.#found, rss_bytes: process.memoryUsage.rss() }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#delays.disable()
  }

  #sample(): void {
    const now = performance.now()
    const { user, system } = process.cpuUsage(this.#cpu)
    const cpu = (user + system) / 1000 / (now - this.#at)
    // The histogram counts from one look to the next, the time between them included.
    const lag = this.#delays.count > 0 ? this.#delays.percentile(99) / 1e6 - LOOK_EVERY_MS : 0
    this.#found = { cpu_pct: round(cpu * 100), event_loop_lag_ms: round(Math.max(0, lag)) }
    this.#cpu = process.cpuUsage()
    this.#at = now
    this.#delays.reset()
  }
}

const round = (value: number): number => Math.round(value * 10) / 10
