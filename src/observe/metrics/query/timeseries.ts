import { invalidField } from '../../../kernel/errors.ts'
import { isoTime } from '../../../kernel/time.ts'
import { ceilTo, DAY_MS, floorTo, HOUR_MS, STEP_MS, WINDOW, type WindowName } from '../metric-history.ts'
import type { Point, SeriesQuery, Timeseries } from '../metrics.schema.ts'
import type { Level } from '../metrics-store.ts'
import type { Recorder } from '../record/recorder.ts'
import type { Series } from '../record/series-table.ts'
import { Cell } from '../sketch/metric-cells.ts'
import { errorsOf, latencyOf } from './summary.ts'

const MAX_POINTS = 1500
const UNIT_MS = { s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS } as const
const DEFAULT_STEP: Readonly<Record<WindowName, string>> = {
  '5m': '5s',
  '1h': '1m',
  '24h': '15m',
  '7d': '1h',
}

/** One point for each step of the window, including empty ones. The last point is not complete. */
export function timeseriesOf(recorder: Recorder, query: SeriesQuery, now: number): Timeseries {
  const { window, step, first, last, starts } = stepsOf(query, now)
  const cells = new Map(starts.map((start) => [start, new Cell()]))
  const isSelected = (id: number) => matches(recorder.series.get(id), query)
  const add = (start: number, _: number, cell: Cell) => cells.get(floorTo(start, step))?.merge(cell)
  recorder.visit(levelFor(window, step), first, last + step, add, isSelected)
  const points = [...cells].map(([start, cell]) => pointOf(start, cell))
  return { window, step_s: step / 1000, points }
}

/** The steps of a query. */
export function stepsOf(query: SeriesQuery, now: number) {
  const window = query.window ?? '5m'
  const step = stepOf(window, query.step ?? DEFAULT_STEP[window])
  const first = ceilTo(now - WINDOW[window].ms, step)
  const last = floorTo(now, step)
  const starts: number[] = []
  for (let start = first; start <= last; start += step) starts.push(start)
  return { window, step, first, last, starts }
}

function stepOf(window: WindowName, text: string): number {
  const step = Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS]
  const { ms, level } = WINDOW[window]
  const finest = STEP_MS[level]
  if (step % finest !== 0)
    throw invalidField(
      '/step',
      `must be a whole number of ${level}: a window of ${window} has no finer resolution`,
    )
  if (step > ms) throw invalidField('/step', `must not be longer than the window of ${window}`)
  if (ms / step > MAX_POINTS) throw invalidField('/step', `must not result in more than ${MAX_POINTS} points`)
  return step
}

/** The coarsest level that divides the step and is kept for the whole window. */
export function levelFor(window: WindowName, step: number): Level {
  if (step % HOUR_MS === 0) return 'hours'
  return step % STEP_MS.minutes === 0 ? 'minutes' : WINDOW[window].level
}

export function matches(series: Series | undefined, query: SeriesQuery): boolean {
  if (!series) return false
  const { kind = 'tool_call', server_id, tool, agent_type, name } = query
  return (
    series.kind === kind &&
    isNamed(series.server_id, server_id) &&
    (tool === undefined || series.tool === tool) &&
    (agent_type === undefined || series.agent_type === agent_type) &&
    (name === undefined || series.name === name)
  )
}

/** Without ids every server is meant. */
export const isNamed = (id: string | null, ids: readonly string[] | undefined): boolean =>
  ids === undefined || (id !== null && ids.includes(id))

export function pointOf(start: number, cell: Cell): Point {
  const { cancelled, requestBytes: request_bytes, responseBytes: response_bytes } = cell
  const counts = { calls: cell.count, errors: errorsOf(cell), cancelled }
  return { ts: isoTime(start), ...counts, ...latencyOf(cell), request_bytes, response_bytes }
}
