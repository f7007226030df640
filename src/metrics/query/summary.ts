import type { AgentFigures, Summary, ToolFigures } from '../metrics.schema.ts'
import type { Recorder } from '../record/recorder.ts'
import type { Series } from '../record/series.ts'
import { Cell } from '../sketch/cell.ts'
import type { WindowName } from '../windows/levels.ts'
import { callsOf, figuresOf, latencyOf } from './figures.ts'

const TOP = 10

type Counted = Pick<Summary, 'calls' | 'latency_ms' | 'top_tools' | 'slowest_tools' | 'top_errors' | 'agents'>

/** One walk through the window; figures are made only of what is shown. */
export function summaryOf(recorder: Recorder, window: WindowName, now: number): Counted {
  const { seconds, calls } = callsIn(recorder, window, now)
  const tools = new Groups()
  const agents = new Groups()
  const errors = new Map<string, { error_code: string; server_id: string | null; count: number }>()
  for (const [series, cell] of calls) {
    tools.add(toolKey(series), series, cell)
    agents.add(series.agent_type ?? '', series, cell)
    for (const [error_code, count] of cell.codes ?? []) {
      const key = `${error_code}\n${series.server_id}`
      const error = errors.get(key) ?? { error_code, server_id: series.server_id, count: 0 }
      error.count += count
      errors.set(key, error)
    }
  }
  const callers = agents.top(({ cell }) => cell.count, Number.POSITIVE_INFINITY)
  const all = new Cell()
  for (const { cell } of callers) all.merge(cell) // each call is of one agent or of none
  const slow = tools.top(({ cell }) => cell.sketch.quantile(0.95) ?? 0)
  return {
    calls: callsOf(all, seconds),
    latency_ms: latencyOf(all),
    top_tools: tools.top(({ cell }) => cell.count).map((tool) => toolFigures(tool, seconds)),
    slowest_tools: slow.map((tool) => toolFigures(tool, seconds)),
    top_errors: [...errors.values()].sort((a, b) => b.count - a.count).slice(0, TOP),
    agents: callers.map((one) => agentFigures(one, seconds)),
  }
}

/** Those that are called most first. */
export function toolsIn(
  recorder: Recorder,
  window: WindowName,
  now: number,
  server_id?: string,
): ToolFigures[] {
  const { seconds, calls } = callsIn(recorder, window, now)
  const tools = new Groups()
  for (const [series, cell] of calls)
    if (server_id === undefined || series.server_id === server_id) tools.add(toolKey(series), series, cell)
  return tools
    .top(({ cell }) => cell.count, Number.POSITIVE_INFINITY)
    .map((tool) => toolFigures(tool, seconds))
}

/** Those that call most first. */
export function agentsIn(recorder: Recorder, window: WindowName, now: number): AgentFigures[] {
  const { seconds, calls } = callsIn(recorder, window, now)
  const agents = new Groups()
  for (const [series, cell] of calls) agents.add(series.agent_type ?? '', series, cell)
  return agents
    .top(({ cell }) => cell.count, Number.POSITIVE_INFINITY)
    .map((one) => agentFigures(one, seconds))
}

function callsIn(recorder: Recorder, window: WindowName, now: number) {
  const { from, tally } = recorder.window(window)
  const calls: (readonly [Series, Cell])[] = []
  for (const [id, cell] of tally.cells) {
    const series = recorder.series.get(id)
    if (series?.kind === 'tool_call') calls.push([series, cell])
  }
  return { seconds: (now - from) / 1000, calls }
}

const toolKey = ({ server_id, tool }: Series): string => `${server_id}\n${tool}`

interface Group {
  readonly series: Series
  cell: Cell
  /** The cell is a sum of ours and not one of the recorder's. */
  own: boolean
}

/** Cells that belong together, added up. A group of one is not copied. */
class Groups {
  readonly #groups = new Map<string, Group>()

  add(key: string, series: Series, cell: Cell): void {
    const group = this.#groups.get(key)
    if (!group) {
      this.#groups.set(key, { series, cell, own: false })
      return
    }
    if (!group.own) group.cell = group.cell.clone()
    group.own = true
    group.cell.merge(cell)
  }

  /** The highest first. */
  top(rank: (group: Group) => number, most = TOP): Group[] {
    const ranked = [...this.#groups.values()].map((group) => ({ group, rank: rank(group) }))
    return ranked
      .sort((a, b) => b.rank - a.rank)
      .slice(0, most)
      .map(({ group }) => group)
  }
}

function toolFigures({ series: { server_id, tool }, cell }: Group, seconds: number): ToolFigures {
  const { requestBytes: request_bytes, responseBytes: response_bytes } = cell
  return { server_id, tool, ...figuresOf(cell, seconds), request_bytes, response_bytes }
}

function agentFigures({ series: { agent_type }, cell }: Group, seconds: number): AgentFigures {
  return { agent_type, ...figuresOf(cell, seconds) }
}
