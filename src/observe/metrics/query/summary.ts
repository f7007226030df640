import { isoTime } from '../../../kernel/time.ts'
import type { WindowName } from '../metric-history.ts'
import type { AgentFigures, Calls, Latency, Summary, ToolFigures } from '../metrics.schema.ts'
import type { Recorder } from '../record/recorder.ts'
import type { Series } from '../record/series-table.ts'
import { Cell } from '../sketch/metric-cells.ts'

const TOP = 10

type Counted = Pick<Summary, 'calls' | 'latency_ms' | 'top_tools' | 'slowest_tools' | 'top_errors' | 'agents'>

export function summaryOf(recorder: Recorder, window: WindowName, now: number): Counted {
  const { seconds, calls } = callsIn(recorder, window, now)
  const tools = grouped(calls, toolKey)
  const agents = ranked(grouped(calls, agentKey), byCount)
  const all = new Cell()
  for (const { cell } of agents) all.merge(cell) // every call is in exactly one of these groups
  const top = ranked(tools, byCount).slice(0, TOP)
  const slowest = ranked(tools, ({ cell }) => cell.sketch.quantile(0.95) ?? 0).slice(0, TOP)
  return {
    calls: callsOf(all, seconds),
    latency_ms: latencyOf(all),
    top_tools: top.map((group) => toolFigures(group, seconds)),
    slowest_tools: slowest.map((group) => toolFigures(group, seconds)),
    top_errors: topErrors(calls),
    agents: agents.map((group) => agentFigures(group, seconds)),
  }
}

/** Tools by number of calls, highest first. */
export function toolsIn(
  recorder: Recorder,
  window: WindowName,
  now: number,
  server_id?: string,
): ToolFigures[] {
  const { seconds, calls } = callsIn(recorder, window, now)
  const some = calls.filter(([series]) => server_id === undefined || series.server_id === server_id)
  return ranked(grouped(some, toolKey), byCount).map((group) => toolFigures(group, seconds))
}

/** Agents by number of calls, highest first. */
export function agentsIn(recorder: Recorder, window: WindowName, now: number): AgentFigures[] {
  const { seconds, calls } = callsIn(recorder, window, now)
  return ranked(grouped(calls, agentKey), byCount).map((group) => agentFigures(group, seconds))
}

type Call = readonly [Series, Cell]

function callsIn(recorder: Recorder, window: WindowName, now: number) {
  const { from, tally } = recorder.window(window)
  const calls: Call[] = []
  for (const [id, cell] of tally.cells) {
    const series = recorder.series.get(id)
    if (series?.kind === 'tool_call') calls.push([series, cell])
  }
  return { seconds: (now - from) / 1000, calls }
}

function topErrors(calls: readonly Call[]): Summary['top_errors'] {
  const errors = new Map<string, Summary['top_errors'][number]>()
  for (const [{ server_id }, { codes }] of calls) {
    for (const [error_code, count] of codes ?? []) {
      const key = `${error_code}\n${server_id}`
      const error = errors.get(key) ?? { error_code, server_id, count: 0 }
      error.count += count
      errors.set(key, error)
    }
  }
  return [...errors.values()].sort((a, b) => b.count - a.count).slice(0, TOP)
}

const toolKey = ({ server_id, tool }: Series): string => `${server_id}\n${tool}`
const agentKey = ({ agent_type }: Series): string => agent_type ?? ''
const byCount = ({ cell }: Group): number => cell.count

interface Group {
  readonly series: Series
  cell: Cell
  /** The cell is a copy and not one of the recorder's. */
  own: boolean
}

/** Adds up the cells with the same key. The cell of a group of one is not copied. */
function grouped(calls: readonly Call[], keyOf: (series: Series) => string): Group[] {
  const groups = new Map<string, Group>()
  for (const [series, cell] of calls) {
    const group = groups.get(keyOf(series))
    if (!group) groups.set(keyOf(series), { series, cell, own: false })
    else {
      if (!group.own) group.cell = group.cell.clone()
      group.own = true
      group.cell.merge(cell)
    }
  }
  return [...groups.values()]
}

/** Highest first. Computes each rank once: a quantile is expensive. */
function ranked(groups: readonly Group[], rankOf: (group: Group) => number): Group[] {
  return groups
    .map((group) => ({ group, rank: rankOf(group) }))
    .sort((a, b) => b.rank - a.rank)
    .map(({ group }) => group)
}

function toolFigures({ series: { server_id, tool }, cell }: Group, seconds: number): ToolFigures {
  const { requestBytes: request_bytes, responseBytes: response_bytes } = cell
  return { server_id, tool, ...figuresOf(cell, seconds), request_bytes, response_bytes }
}

function agentFigures({ series: { agent_type }, cell }: Group, seconds: number): AgentFigures {
  return { agent_type, ...figuresOf(cell, seconds) }
}

/** The figures of a cell. `seconds` is the length of its period. */
function figuresOf(cell: Cell, seconds: number) {
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
