import { isoTime } from '../../../kernel/time.ts'
import type { Calls, Latency } from '../metrics.schema.ts'
import type { Cell } from '../sketch/cell.ts'

/** The figures of a cell. `seconds` is the length of its period. */
export function figuresOf(cell: Cell, seconds: number) {
  return { calls: callsOf(cell, seconds), latency_ms: latencyOf(cell), last_call_at: lastOf(cell) }
}

export function callsOf(cell: Cell, seconds: number): Calls {
  const { ok, error, timeout, cancelled, count: total } = cell
  return {
    total,
    ok,
    error,
    timeout,
    cancelled,
    rate_per_s: round(total / Math.max(1, seconds)),
    error_rate: errorRate(cell),
  }
}

export const errorsOf = ({ error, timeout }: Cell): number => error + timeout
export const lastOf = ({ lastAt }: Cell): string | null => (lastAt > 0 ? isoTime(lastAt) : null)

export function latencyOf({ sketch }: Cell): Latency {
  const at = (q: number) => quantileOf(sketch, q)
  return {
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    max: sketch.count === 0 ? null : round(sketch.max),
  }
}

export function quantileOf(sketch: Cell['sketch'], q: number): number | null {
  const value = sketch.quantile(q)
  return value === null ? null : round(value)
}

function errorRate(cell: Cell): number {
  return cell.count === 0 ? 0 : Math.round((errorsOf(cell) / cell.count) * 1e6) / 1e6
}

/** Three decimals: microseconds, for values in milliseconds. */
export const round = (value: number): number => Math.round(value * 1000) / 1000
