import { invalidField } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { LEVELS, type Level } from '../../kernel/log.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import { timeRange } from '../time-range.ts'
import type { Histogram as Counted, LogStore, ResolvedFilter } from './log-store.ts'
import type {
  DownloadQuery,
  Histogram,
  HistogramQuery,
  LogFilters,
  LogPage,
  LogQuery,
} from './logs.schema.ts'

/** Provided by `compose/rest.ts`. */
interface Deps {
  readonly store: LogStore
  /** Stores every line written so far. With a timeout, returns earlier during a flood of lines. */
  readonly flush: (timeoutMs?: number) => Promise<void>
  readonly now: () => number
  readonly audit: (entry: AuditEntry) => Promise<void>
}

/** During a flood of lines, a page may miss the newest ones rather than be late. */
const FLUSH_TIMEOUT_MS = 30

export function createLogs({ store, flush, now, audit }: Deps) {
  return {
    async page(query: LogQuery): Promise<LogPage> {
      const { order = 'desc', limit = 100, cursor, around, ...filters } = query
      if (around !== undefined && cursor !== undefined)
        throw invalidField('/around', 'cannot be combined with cursor')
      const filter = resolve(filters, now())
      await flush(FLUSH_TIMEOUT_MS)
      if (around !== undefined) return pageAround(store, filter, around, order, limit)
      const after = cursor === undefined ? null : Number(cursor)
      const { items, total, next } = await store.page({ filter, order, limit, after })
      return { items, total, next_cursor: cursorOf(next) }
    },

    async histogram(query: HistogramQuery): Promise<Histogram> {
      const { step, ...filters } = query
      const filter = resolve(filters, now())
      await flush(FLUSH_TIMEOUT_MS)
      return histogramOf(store, filter, step, now())
    },

    /** Oldest line first by default: a file is read from the top. */
    async download(query: DownloadQuery): Promise<AsyncIterable<Uint8Array>> {
      const { order = 'asc', format = 'ndjson', ...filters } = query
      const filter = resolve(filters, now())
      await flush()
      return store.download({ filter, order, format })
    },

    async clear(filters: LogFilters, by: Caller): Promise<number> {
      const filter = resolve(filters, now())
      await flush()
      const deleted = await store.clear(filter)
      await audit({
        action: 'logs_cleared',
        subject: 'logs',
        ...by,
        detail: { deleted, filters: Object.keys(filters) },
      })
      return deleted
    },
  }
}
export type Logs = ReturnType<typeof createLogs>

/**
 * The line with this id, if the filter selects it, with as many lines before and after it. The line itself may have been
 * deleted in the meantime.
 */
async function pageAround(
  store: LogStore,
  filter: ResolvedFilter,
  id: number,
  order: 'asc' | 'desc',
  limit: number,
): Promise<LogPage> {
  const half = Math.floor(limit / 2)
  const [older, newer] = await Promise.all([
    store.page({ filter, order: 'desc', limit: limit - half, after: id + 1 }),
    half === 0 ? NO_LINES : store.page({ filter, order: 'asc', limit: half, after: id, counts: false }),
  ])
  const ascending = [...older.items.toReversed(), ...newer.items]
  const [before, after] = order === 'asc' ? [older, newer] : [newer, older]
  return {
    items: order === 'asc' ? ascending : ascending.reverse(),
    total: older.total,
    next_cursor: cursorOf(after.next),
    prev_cursor: cursorOf(before.next),
  }
}
const NO_LINES = { items: [], next: null }

const cursorOf = (next: number | null): string | null => (next === null ? null : String(next))

function resolve({ since, until, ...rest }: LogFilters, now: number): ResolvedFilter {
  return { ...rest, ...timeRange({ since, until }, now) }
}

const MAX_POINTS = 1000
const DEFAULT_POINTS = 120
const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DAY_MS = UNIT_MS.d
/** The default is the shortest of these that gives few enough points, or a number of days. */
const STEPS_MS = [1, 5, 10, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200].map((s) => s * 1000)

/** Counts lines by time and level: one point for each step from `since` to `until`, including empty ones. */
async function histogramOf(
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
  const none = Object.fromEntries(LEVELS.map((level) => [level, 0])) as Record<Level, number>
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
