import { invalidField } from '../../kernel/errors.ts'
import { LEVELS } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Histogram as Counted, LogStore, ResolvedFilter } from './log-store.ts'
import type { Histogram } from './logs.schema.ts'

const MAX_POINTS = 1000
const DEFAULT_POINTS = 120
const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DAY_MS = UNIT_MS.d
/** The default is the shortest of these that gives few enough points, or a number of days. */
const STEPS_MS = [1, 5, 10, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200].map((s) => s * 1000)

/** Counts lines by time and level: one point for each step from `since` to `until`, including empty ones. */
export async function histogramOf(
  store: Pick<LogStore, 'histogram' | 'oldest'>,
  filter: ResolvedFilter,
  stepText: string | undefined,
  now: number,
): Promise<Histogram> {
  const until = filter.until ?? now
  const oldest = Math.min(filter.since ?? (await store.oldest()) ?? until, until)
  const step = stepText === undefined ? defaultStep(until - oldest) : msOf(stepText)
  const earliest = floorTo(until, step) - (MAX_POINTS - 1) * step
  const tooMany = floorTo(oldest, step) < earliest
  if (tooMany && filter.since !== undefined)
    throw invalidField('/step', `must not result in more than ${MAX_POINTS} points`)
  const since = tooMany ? earliest : oldest
  const { counts, folded, from } = await store.histogram({ filter: { ...filter, since, until }, step })
  const first = Math.max(since, from ?? since)
  return {
    since: isoTime(first),
    until: isoTime(until),
    step_s: step / 1000,
    total: counts.reduce((sum, { lines }) => sum + lines, 0),
    folded,
    complete: from === null && !tooMany,
    points: pointsOf(counts, floorTo(first, step), until, step),
  }
}

function pointsOf(counts: Counted['counts'], first: number, until: number, step: number) {
  const none = Object.fromEntries(LEVELS.map((level) => [level, 0])) as Record<
    (typeof LEVELS)[number],
    number
  >
  const points = new Map<number, Histogram['points'][number]>()
  for (let start = first; start <= until; start += step)
    points.set(start, { ts: isoTime(start), total: 0, ...none })
  for (const { start, level, lines } of counts) {
    const point = points.get(start)
    if (!point) continue
    point[level] += lines
    point.total += lines
  }
  return [...points.values()]
}

function defaultStep(range: number): number {
  const fits = (step: number) => range / step <= DEFAULT_POINTS - 2 // a range can begin and end within a step
  return STEPS_MS.find(fits) ?? Math.ceil(range / (DEFAULT_POINTS - 2) / DAY_MS) * DAY_MS
}

const msOf = (text: string): number =>
  Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS]

const floorTo = (ts: number, step: number): number => Math.floor(ts / step) * step
