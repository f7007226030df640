import type { Connection } from '../../sqlite/connection.ts'
import type { IdRange } from '../index/time-spans.ts'
import type { Access, Condition, LogQuery } from './log-query.ts'
import { type Found, scanSql } from './query-sql.ts'

/** How many lines or list entries are sampled. */
const SAMPLE = 1000

/** Estimates for all lines, based on the newest ones. */
interface Sample {
  /** Number of lines for each access. */
  readonly accesses: readonly number[]
  /** Share of lines that meets all conditions. */
  readonly hits: number
  /** Share of lines that meets the search condition alone. */
  readonly textHits: number
}

export function sample(
  connection: Connection,
  { accesses, conditions, terms }: LogQuery,
  newest: IdRange,
  all: number,
): Sample {
  // Without the time range: the newest lines may be just outside of it.
  const timeless = conditions.filter(({ on }) => on !== 'since' && on !== 'until')
  const search = timeless.filter(({ on }) => on === 'search')
  const canChoose = accesses.length > 0 || terms !== null
  const hits = canChoose ? hitRate(connection, timeless, newest) : 0
  return {
    accesses: accesses.map((access) => listLength(connection, access, newest, all)),
    hits,
    textHits: search.length < timeless.length && terms ? hitRate(connection, search, newest) : hits,
  }
}

function hitRate(connection: Connection, conditions: readonly Condition[], newest: IdRange): number {
  const first = Math.max(newest.first, newest.last - SAMPLE + 1)
  const slice = { first, last: newest.last, order: 'desc', limit: SAMPLE } as const
  const { sql, params } = scanSql(conditions, slice)
  return (connection.row<Found>(sql, ...params)?.checked ?? 0) / (newest.last - first + 1)
}

function listLength(
  connection: Connection,
  { index, where, lists }: Access,
  newest: IdRange,
  all: number,
): number {
  const entries = `SELECT id FROM logs INDEXED BY ${index} WHERE ${where} AND id BETWEEN ? AND ?`
  const sql = `SELECT count(*) AS found, min(id) AS lowest FROM (${entries} ORDER BY id DESC LIMIT ${SAMPLE})`
  return lists
    .map((values) => {
      const entry = connection.row<{ found: number; lowest: number | null }>(
        sql,
        ...values,
        newest.first,
        newest.last,
      )
      const found = entry?.found ?? 0
      return found < SAMPLE ? found : (found * all) / (newest.last - (entry?.lowest ?? newest.first) + 1)
    })
    .reduce((sum, found) => sum + found, 0)
}
