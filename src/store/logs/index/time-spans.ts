import type { Connection } from '../../sqlite/connection.ts'

/** The time range of consecutive ids. */
export interface Span {
  readonly first_id: number
  readonly last_id: number
  readonly min_ts: number
  readonly max_ts: number
}

export interface IdRange {
  readonly first: number
  readonly last: number
}

/** A span grows by whole batches up to this many ids. */
const SPAN_IDS = 1000

/** The newest span extended by a batch, or a new span. */
export function extendSpan(newest: Span | undefined, batch: Span): Span {
  if (!newest || batch.last_id - newest.first_id >= SPAN_IDS) return batch
  return {
    first_id: newest.first_id,
    last_id: batch.last_id,
    min_ts: Math.min(newest.min_ts, batch.min_ts),
    max_ts: Math.max(newest.max_ts, batch.max_ts),
  }
}

export function saveSpan(connection: Connection, { first_id, last_id, min_ts, max_ts }: Span): void {
  const sql = 'INSERT OR REPLACE INTO spans (first_id, last_id, min_ts, max_ts) VALUES (?, ?, ?, ?)'
  connection.run(sql, first_id, last_id, min_ts, max_ts)
}

export function newestSpan(connection: Connection): Span | undefined {
  return connection.row<Span>('SELECT * FROM spans ORDER BY first_id DESC LIMIT 1')
}

/** The id ranges that contain all lines of a time range. They may contain other lines too. */
export function idsBetween(
  connection: Connection,
  since: number | undefined,
  until: number | undefined,
  all: IdRange,
): IdRange[] {
  if (since === undefined && until === undefined) return [all]
  const found = connection.row<{ spans: string }>(
    `SELECT json_group_array(json_array(first_id, last_id)) AS spans FROM spans
     WHERE max_ts >= ? AND min_ts <= ? AND last_id >= ? AND first_id <= ?`,
    since ?? Number.MIN_SAFE_INTEGER,
    until ?? Number.MAX_SAFE_INTEGER,
    all.first,
    all.last,
  )
  const spans = JSON.parse(found?.spans ?? '[]') as [first: number, last: number][]
  const ranges: { first: number; last: number }[] = []
  for (const [first, last] of spans.sort(([a], [b]) => a - b)) {
    const before = ranges.at(-1)
    if (before && before.last + 1 >= first) before.last = last
    else ranges.push({ first, last })
  }
  return ranges.map(({ first, last }) => {
    return { first: Math.max(first, all.first), last: Math.min(last, all.last) }
  })
}

/** A range of lines small enough for one step of work. */
export interface Run {
  readonly first: number
  readonly last: number
  readonly bytes: number
  /** More lines follow in the requested range. */
  readonly more: boolean
}

const MAX_ROWS = 1000

/** At most 1000 lines from `first` to `last` with about `bytes` of text; at least one line if there is any. */
export function runOfLines(
  connection: Connection,
  first: number,
  last: number,
  bytes: number,
): Run | undefined {
  const rows = connection.rows<{ id: number; bytes: number }>(
    `SELECT id, octet_length(message) + coalesce(octet_length(data), 0) AS bytes FROM logs
     WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${MAX_ROWS + 1}`,
    first,
    last,
  )
  let run: Run | undefined
  for (const row of rows.slice(0, MAX_ROWS)) {
    const total = (run?.bytes ?? 0) + row.bytes
    if (run && total > bytes) return { ...run, more: true }
    run = { first: run?.first ?? row.id, last: row.id, bytes: total, more: rows.length > MAX_ROWS }
  }
  return run
}

export function lowestId(connection: Connection): number | null {
  return connection.row<{ id: number | null }>('SELECT min(id) AS id FROM logs')?.id ?? null
}
