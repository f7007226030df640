import { invalidField } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import { timeRange } from '../time-range.ts'
import { histogramOf } from './histogram.ts'
import type { LogStore, ResolvedFilter } from './log-store.ts'
import type {
  DownloadQuery,
  Histogram,
  HistogramQuery,
  LogFilters,
  LogPage,
  LogQuery,
} from './logs.schema.ts'

/** Provided by `compose/rest.ts`. */
export interface Deps {
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
