import { LEVEL_RANK, LEVELS } from '../../../kernel/log.ts'
import type { Histogram, HistogramRequest } from '../../../logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import type { Value } from '../../sqlite/sqlite.ts'
import { logQuery } from './query.ts'
import { type ReadContext, startWalk } from './reading.ts'

/** How long lines are counted. A million lines take about as long. */
const COUNTING_MS = 1000

/** Counts the newest lines first. */
export async function readHistogram(
  context: ReadContext,
  { filter, step }: HistogramRequest,
  countingMs = COUNTING_MS,
): Promise<Histogram> {
  const walk = startWalk(context, filter, logQuery(filter), 'desc', null)
  const counts = new Map<string, { start: number; level: (typeof LEVELS)[number]; lines: number }>()
  let used = 0
  let oldest: number | null = null
  for (;;) {
    const startedAt = performance.now()
    const ids = walk.step()
    if (!ids) return { counts: [...counts.values()], from: null }
    for (const [number, rank, lines, first] of countOf(context.connection, ids, step)) {
      const key = `${number} ${rank}`
      const level = LEVELS.find((each) => LEVEL_RANK[each] === rank) ?? 'info'
      const count = counts.get(key) ?? { start: number * step, level, lines: 0 }
      count.lines += lines
      counts.set(key, count)
      oldest = Math.min(oldest ?? first, first)
    }
    used += performance.now() - startedAt
    if (used > countingMs && oldest !== null) return { counts: [...counts.values()], from: oldest }
    await context.pause()
  }
}

type Count = [number: number, level: number, lines: number, first: number]

/** Consecutive ids, which most lines have without a filter, are read as a range: that is much faster. */
function countOf(connection: Connection, ids: readonly number[], step: number): Count[] {
  const [newest, oldest] = [ids.at(0), ids.at(-1)]
  if (newest === undefined || oldest === undefined) return []
  const isRange = newest - oldest + 1 === ids.length
  const where = isRange ? 'id BETWEEN ? AND ?' : 'id IN (SELECT value FROM json_each(?))'
  const params: Value[] = isRange ? [oldest, newest] : [JSON.stringify(ids)]
  // The quotient of integers is rounded towards zero; times before 1970 do not occur.
  const groups = `SELECT ts / ? AS number, level, count(*) AS lines, min(ts) AS first FROM logs NOT INDEXED
    WHERE ${where} GROUP BY 1, 2`
  const sql = `SELECT json_group_array(json_array(number, level, lines, first)) AS counts FROM (${groups})`
  return JSON.parse(connection.row<{ counts: string }>(sql, step, ...params)?.counts ?? '[]') as Count[]
}

/** The time of the oldest line. */
export const oldestTime = (connection: Connection): number | null =>
  connection.row<{ ts: number | null }>('SELECT min(min_ts) AS ts FROM spans')?.ts ?? null
