import type { Connection } from '../../sqlite/connection.ts'
import type { IdRange } from '../index/spans.ts'
import type { Access, Condition, LogQuery } from './query.ts'
import { type Found, scanSql } from './sql.ts'

/** How many lines, or entries of a list, are looked at. */
const SAMPLE = 1000

/** What the newest lines tell about all of them, before the others are read. */
interface Sample {
  /** How many lines each access leads to. */
  readonly accesses: readonly number[]
  /** Which share of the lines meets all conditions, and which share meets the search alone. */
  readonly hits: number
  readonly textHits: number
}

export function sample(
  connection: Connection,
  { accesses, conditions, clue }: LogQuery,
  newest: IdRange,
  all: number,
): Sample {
  // That the newest lines may be just outside of the time asked for says nothing about the others.
  const timeless = conditions.filter(({ on }) => on !== 'since' && on !== 'until')
  const search = timeless.filter(({ on }) => on === 'search')
  const canChoose = accesses.length > 0 || clue !== null
  const hits = canChoose ? share(connection, timeless, newest) : 0
  return {
    accesses: accesses.map((access) => length(connection, access, newest, all)),
    hits,
    textHits: search.length < timeless.length && clue ? share(connection, search, newest) : hits,
  }
}

function share(connection: Connection, conditions: readonly Condition[], newest: IdRange): number {
  const first = Math.max(newest.first, newest.last - SAMPLE + 1)
  const stretch = { first, last: newest.last, order: 'desc', limit: SAMPLE } as const
  const { sql, params } = scanSql(conditions, stretch)
  return (connection.row<Found>(sql, ...params)?.looked ?? 0) / (newest.last - first + 1)
}

function length(
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
