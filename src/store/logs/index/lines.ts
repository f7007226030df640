import type { Connection } from '../../sqlite/connection.ts'

/** A run of lines beginning with the oldest at or after an id, cut so that work on it stays short. */
export interface Run {
  readonly first: number
  readonly last: number
  readonly bytes: number
  /** There are more lines up to the end that was asked for. */
  readonly more: boolean
}

const MOST_ROWS = 1000

/** At most 1000 lines from `first` to `last` and about `bytes` of text, but at least one line if there is any. */
export function runOfLines(
  connection: Connection,
  first: number,
  last: number,
  bytes: number,
): Run | undefined {
  const rows = connection.rows<{ id: number; bytes: number }>(
    `SELECT id, octet_length(message) + coalesce(octet_length(data), 0) AS bytes FROM logs
     WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${MOST_ROWS + 1}`,
    first,
    last,
  )
  let run: Run | undefined
  for (const row of rows.slice(0, MOST_ROWS)) {
    const total = (run?.bytes ?? 0) + row.bytes
    if (run && total > bytes) return { ...run, more: true }
    run = { first: run?.first ?? row.id, last: row.id, bytes: total, more: rows.length > MOST_ROWS }
  }
  return run
}

export function lowestId(connection: Connection): number | null {
  return connection.row<{ id: number | null }>('SELECT min(id) AS id FROM logs')?.id ?? null
}
