import { isoTime } from '../../kernel/time.ts'
import { type TimeRange, timeRange } from '../time-range.ts'
import { type EventQuery, type EventView, KINDS, type Kind } from './events.schema.ts'

/** An event of one source, before it is merged with those of the others. */
export interface SourceEvent {
  /** Unique and increasing within its source. */
  readonly id: number
  readonly ts: number
  readonly server_id: string | null
  readonly agent_type: string | null
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface SourceQuery extends TimeRange {
  readonly server_ids: readonly string[] | undefined
  /** Only events before this one, by time and then by id. */
  readonly before: { readonly ts: number; readonly id: number } | undefined
  readonly limit: number
}

/** Newest first, by time and then by id. `count` ignores `before` and stops at `limit`. */
export interface EventSource {
  page(query: SourceQuery): Promise<readonly SourceEvent[]>
  count(query: SourceQuery): Promise<number>
}

interface Deps {
  readonly sources: { readonly [K in Kind]: EventSource }
  readonly now: () => number
}

/** Totals beyond this are not counted. */
const MAX_TOTAL = 10_000

/** What happened, for people: changes, states of servers, and notices in one list. */
export function createEvents({ sources, now }: Deps) {
  return {
    async page(query: EventQuery) {
      const { kind: kinds = KINDS, server_id: server_ids, limit = 100, cursor, since, until } = query
      const filter = { server_ids, ...timeRange({ since, until }, now()) }
      const chosen = KINDS.filter((kind) => kinds.includes(kind))
      const pages = await Promise.all(
        chosen.map(async (kind) => {
          const before = cursor === undefined ? undefined : positionIn(kind, cursor)
          const found = await sources[kind].page({ ...filter, before, limit: limit + 1 })
          return found.map((event) => ({ kind, ...event }))
        }),
      )
      const merged = pages.flat().sort(newestFirst)
      const items = merged.slice(0, limit)
      const last = items.at(-1)
      const counts = await Promise.all(
        chosen.map((kind) => sources[kind].count({ ...filter, before: undefined, limit: MAX_TOTAL + 1 })),
      )
      const total = counts.reduce((sum, count) => sum + count, 0)
      return {
        items: items.map(viewOf),
        total: total > MAX_TOTAL ? null : total,
        next_cursor: merged.length > limit && last ? cursorOf(last) : null,
      }
    },
  }
}
export type Events = ReturnType<typeof createEvents>

type KindedEvent = SourceEvent & { readonly kind: Kind }

const rankOf = (kind: Kind): number => KINDS.indexOf(kind)

const newestFirst = (a: KindedEvent, b: KindedEvent): number =>
  b.ts - a.ts || rankOf(b.kind) - rankOf(a.kind) || b.id - a.id

const cursorOf = ({ ts, kind, id }: KindedEvent): string => `${ts}-${rankOf(kind)}-${id}`

/** Where a source continues after the cursor, which may be an event of another source. */
function positionIn(kind: Kind, cursor: string): { ts: number; id: number } {
  const [ts = 0, rank = 0, id = 0] = cursor.split('-').map(Number)
  if (rankOf(kind) === rank) return { ts, id }
  return { ts, id: rankOf(kind) < rank ? Number.MAX_SAFE_INTEGER : 0 }
}

const viewOf = ({ id, ts, kind, server_id, agent_type, text, data }: KindedEvent): EventView => ({
  id: `${kind}-${id}`,
  ts: isoTime(ts),
  kind,
  server_id,
  agent_type,
  text,
  data: { ...data },
})
