import { invalidField } from '../../../kernel/errors.ts'
import { isoTime } from '../../../kernel/time.ts'
import { floorTo, WINDOW, type WindowName } from '../metric-history.ts'
import type { ResourcePoint, SeriesQuery, ServerPoint, ServerTimeseries } from '../metrics.schema.ts'
import { SERVER_STEP_MS, type ServerLevel, type ServerPeriod } from '../metrics-store.ts'
import type { Recorder } from '../record/recorder.ts'
import { Cell } from '../sketch/metric-cells.ts'
import { callsOf, latencyOf, round } from './summary.ts'
import { isNamed, levelFor, matches, pointOf, stepsOf } from './timeseries.ts'

type Steps = ReturnType<typeof stepsOf>

/** Of all series together. */
const MAX_POINTS = 50_000

/** One series for each registered server, and for each other that has data, in the order of their ids. */
export function timeseriesByServer(
  recorder: Recorder,
  query: SeriesQuery,
  registered: readonly string[],
  now: number,
): ServerTimeseries {
  const steps = stepsOf(query, now)
  const { window, step } = steps
  recorder.observeServers()
  const periods = periodsOf(recorder, steps, query.server_id)
  const cells =
    query.kind === 'resources' ? new Map<string | null, CellsByStart>() : cellsOf(recorder, steps, query)
  const known = registered.filter((id) => isNamed(id, query.server_id))
  const ids = [...new Set([...known, ...periods.keys(), ...cells.keys()])].sort()
  if (ids.length * steps.starts.length > MAX_POINTS)
    throw invalidField('/step', `must not result in more than ${MAX_POINTS} points for ${ids.length} servers`)
  const series = ids.map((server_id) => {
    const own = server_id === null ? undefined : periods.get(server_id)
    if (query.kind === 'resources')
      return { server_id, points: steps.starts.map((start) => resourcePoint(start, own?.get(start))) }
    const mine = cells.get(server_id)
    const all = new Cell()
    for (const cell of mine?.values() ?? []) all.merge(cell)
    return {
      server_id,
      calls: callsOf(all, WINDOW[window].ms / 1000),
      latency_ms: latencyOf(all),
      points: steps.starts.map((start) => serverPoint(start, mine?.get(start), own?.get(start))),
    }
  })
  return { window, step_s: step / 1000, series }
}

/** The share of the time in which a server should have been available, in percent; null if it should not have been. */
export function availabilityOf(recorder: Recorder, server_id: string, window: WindowName, now: number) {
  recorder.observeServers()
  const from = now - WINDOW[window].ms
  const level = FINEST[window]
  let [expected, down] = [0, 0]
  for (const period of recorder.availability.between(level, from, now, WINDOW[window].ms, server_id)) {
    expected += period.expected_ms
    down += period.down_ms
  }
  return expected === 0 ? null : round((1 - down / expected) * 100)
}

type CellsByStart = Map<number, Cell>

function cellsOf(recorder: Recorder, steps: Steps, query: SeriesQuery): Map<string | null, CellsByStart> {
  const { window, step, first, last } = steps
  const found = new Map<string | null, CellsByStart>()
  const add = (start: number, id: number, cell: Cell) => {
    const server = recorder.series.get(id)?.server_id ?? null
    const cells = found.get(server) ?? new Map<number, Cell>()
    const sum = cells.get(floorTo(start, step)) ?? new Cell()
    sum.merge(cell)
    found.set(server, cells.set(floorTo(start, step), sum))
  }
  const isSelected = (id: number) => matches(recorder.series.get(id), query)
  recorder.visit(levelFor(window, step), first, last + step, add, isSelected)
  return found
}

/** The finest level that is kept for the whole window. */
const FINEST: Readonly<Record<WindowName, ServerLevel>> = {
  '5m': 'minutes',
  '1h': 'minutes',
  '24h': 'quarters',
  '7d': 'hours',
}

/** The times of the last five minutes are known exactly, but only since the start of Toolroom. */
function periodsOf(recorder: Recorder, { window, step, first, last }: Steps, ids: SeriesQuery['server_id']) {
  const finest = FINEST[window]
  if (window !== '5m' && step % SERVER_STEP_MS[finest] !== 0)
    throw invalidField(
      '/step',
      `must be a multiple of ${SERVER_STEP_MS[finest] / 60_000}m for servers in a window of ${window}`,
    )
  const level = step % SERVER_STEP_MS.hours === 0 ? 'hours' : finest
  const only = ids?.length === 1 ? ids[0] : undefined
  const periods =
    window === '5m'
      ? recorder.availability.recent(first, last + step, step, only)
      : recorder.availability.between(level, first, last + step, step, only)
  const found = new Map<string, Map<number, ServerPeriod>>()
  for (const period of periods) {
    if (!isNamed(period.server_id, ids)) continue
    const own = found.get(period.server_id) ?? new Map<number, ServerPeriod>()
    found.set(period.server_id, own.set(period.start, period))
  }
  return found
}

function serverPoint(start: number, cell: Cell | undefined, period: ServerPeriod | undefined): ServerPoint {
  return { ...pointOf(start, cell ?? NO_CALLS), down_s: round((period?.down_ms ?? 0) / 1000) }
}
const NO_CALLS = new Cell()

function resourcePoint(start: number, period: ServerPeriod | undefined): ResourcePoint {
  const ts = isoTime(start)
  if (!period || period.sampled_ms === 0) return { ts, cpu_pct: null, rss_bytes: null }
  const { sampled_ms, cpu, cpu_max, rss, rss_max } = period
  return {
    ts,
    cpu_pct: { avg: Math.round((cpu / sampled_ms) * 10) / 10, max: cpu_max },
    rss_bytes: { avg: Math.round(rss / sampled_ms), max: rss_max },
  }
}
