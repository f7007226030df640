import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { IdleGarbageCollection } from './idle-garbage-collection.ts'

export interface ProcessFigures {
  /** Share of one core over the last seconds. */
  readonly cpu_pct: number
  readonly rss_bytes: number
  /** 99th percentile of how late timers fire. */
  readonly event_loop_lag_ms: number
}

const SAMPLE_EVERY_MS = 5000
/** Long enough to use no measurable CPU time while the service is idle. */
const RESOLUTION_MS = 100
/** Below this share of one core the process is idle. */
const IDLE_CPU_PCT = 5

/** Samples the resource usage of this process every few seconds, and collects its garbage when it is idle. */
export class ProcessSampler {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  readonly #memory = new IdleGarbageCollection()
  readonly #timer: NodeJS.Timeout
  #cpu = process.cpuUsage()
  #at = performance.now()
  #last = { cpu_pct: 0, event_loop_lag_ms: 0 }

  constructor() {
    this.#delays.enable()
    this.#timer = setInterval(() => {
      this.#sample()
      if (this.#last.cpu_pct < IDLE_CPU_PCT) this.#memory.tidy()
    }, SAMPLE_EVERY_MS).unref()
  }

  /** Current memory, and the last sample of the other values. */
  figures(): ProcessFigures {
    if (performance.now() - this.#at > SAMPLE_EVERY_MS / 5 && this.#last.cpu_pct === 0) this.#sample()
    return { ...this.#last, rss_bytes: process.memoryUsage.rss() }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#delays.disable()
  }

  #sample(): void {
    const now = performance.now()
    const { user, system } = process.cpuUsage(this.#cpu)
    const cpu = (user + system) / 1000 / (now - this.#at)
    // The histogram includes the sampling interval itself.
    const lag = this.#delays.count > 0 ? this.#delays.percentile(99) / 1e6 - RESOLUTION_MS : 0
    this.#last = { cpu_pct: round(cpu * 100), event_loop_lag_ms: round(Math.max(0, lag)) }
    this.#cpu = process.cpuUsage()
    this.#at = now
    this.#delays.reset()
  }
}

const round = (value: number): number => Math.round(value * 10) / 10
