import { LEVEL_RANK, LEVELS, type Level } from '../../../kernel/log.ts'
import type { Histogram, HistogramRequest } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import type { Value } from '../../sqlite/sqlite.ts'
import { logQuery } from './log-query.ts'
import { type ReadContext, startWalk } from './page-reader.ts'

/** How long lines are counted. A million lines take less on an idle computer. */
const COUNTING_MS = 2000
/** How many ids are scanned at once, in about 10 ms. */
const SCANNED_IDS = 16_384

/** Counts the newest lines first. */
export async function readHistogram(
  context: ReadContext,
  { filter, step }: HistogramRequest,
  countingMs = COUNTING_MS,
): Promise<Histogram> {
  const { connection, pause } = context
  const query = logQuery(filter)
  const walk = startWalk(context, filter, query, 'desc', null)
  const conditions = query.conditions.map(({ sql }) => sql)
  const params = query.conditions.flatMap((condition) => condition.params)
  const counts = new Map<string, { start: number; level: Level; lines: number }>()
  let folded = 0
  let oldest = Number.POSITIVE_INFINITY
  let leftMs = countingMs

  /** Undefined at the end. */
  const countNext = (): Count[] | undefined => {
    const range = walk.takeScan(SCANNED_IDS)
    if (range) {
      const where = ['id BETWEEN ? AND ?', ...conditions].join(' AND ')
      return countsWhere(connection, where, [range.first, range.last, ...params], step)
    }
    const ids = walk.step()
    return ids && countsWhere(connection, IS_LISTED, [JSON.stringify(ids)], step)
  }

  for (;;) {
    const startedAt = performance.now()
    const found = countNext()
    if (!found) return { counts: [...counts.values()], folded, from: null }
    for (const [number, rank, lines, written, first] of found) {
      const key = `${number} ${rank}`
      const level = LEVELS.find((each) => LEVEL_RANK[each] === rank) ?? 'info'
      const count = counts.get(key) ?? { start: number * step, level, lines: 0 }
      count.lines += lines
      folded += written - lines
      counts.set(key, count)
      oldest = Math.min(oldest, first)
    }
    leftMs -= performance.now() - startedAt
    if (leftMs < 0 && counts.size > 0) return { counts: [...counts.values()], folded, from: oldest }
    await pause()
  }
}

const IS_LISTED = 'id IN (SELECT value FROM json_each(?))'

type Count = [number: number, level: number, lines: number, written: number, first: number]

/**
 * As one JSON text, like all reads of many rows. The cast makes the division one of integers: `node:sqlite` binds every
 * number as a REAL.
 */
function countsWhere(connection: Connection, where: string, params: readonly Value[], step: number): Count[] {
  const groups = `SELECT ts / CAST(? AS INTEGER) AS number, level, count(*) AS lines, sum(repeat) AS written, min(ts) AS first
    FROM logs NOT INDEXED WHERE ${where} GROUP BY 1, 2`
  const sql = `SELECT json_group_array(json_array(number, level, lines, written, first)) AS counts FROM (${groups})`
  return JSON.parse(connection.row<{ counts: string }>(sql, step, ...params)?.counts ?? '[]') as Count[]
}

/** The time of the oldest line. */
export const oldestTime = (connection: Connection): number | null =>
  connection.row<{ ts: number | null }>('SELECT min(min_ts) AS ts FROM spans')?.ts ?? null
