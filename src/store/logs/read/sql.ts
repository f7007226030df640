import type { Value } from '../../sqlite/sqlite.ts'
import type { Access, Condition } from './query.ts'

export type Order = 'asc' | 'desc'

/** Ids from `first` to `last`, both included, at most `limit` of them. */
export interface Stretch {
  readonly first: number
  readonly last: number
  readonly order: Order
  readonly limit: number
}

/** Ids of lines that a part of the text index names. */
export interface TextList {
  readonly table: string
  readonly match: string
}

export interface Sql {
  readonly sql: string
  readonly params: readonly Value[]
}

/**
 * What every statement here answers: how many ids were looked at, the lowest and the highest of them, and those
 * that meet the conditions as a JSON array. One row of text crosses into JavaScript instead of thousands.
 */
export interface Found {
  readonly looked: number
  readonly lowest: number | null
  readonly highest: number | null
  readonly ids: string
}
const SEEN = 'count(*) AS looked, min(id) AS lowest, max(id) AS highest'

/** Line by line; here only the lines that meet the conditions count as looked at. */
export function scanSql(conditions: readonly Condition[], stretch: Stretch): Sql {
  const where = ['id BETWEEN ? AND ?', ...conditions.map(({ sql }) => sql)].join(' AND ')
  const lines = `SELECT id FROM logs NOT INDEXED WHERE ${where} ${ending(stretch)}`
  return {
    sql: `SELECT ${SEEN}, json_group_array(id) AS ids FROM (${lines})`,
    params: [stretch.first, stretch.last, ...paramsOf(conditions), stretch.limit],
  }
}

/** By lists of ids, which SQLite merges or meets while it reads them; `open` is asked of the lines they name. */
export function listSql(
  accesses: readonly Access[],
  text: TextList | null,
  open: readonly Condition[],
  stretch: Stretch,
): Sql {
  const lists = accesses.flatMap(({ index, where, lists }) => {
    const sql = `SELECT id FROM logs INDEXED BY ${index} WHERE ${where} AND id BETWEEN ? AND ?`
    return lists.map((values) => ({ sql, params: [...values, stretch.first, stretch.last] }))
  })
  if (text) {
    const sql = `SELECT rowid AS id FROM ${text.table} WHERE ${text.table} MATCH ? AND rowid BETWEEN ? AND ?`
    lists.unshift({ sql, params: [text.match, stretch.first, stretch.last] })
  }
  // A plan has one access with many lists, or many accesses (and the text index) with one list each.
  const how = accesses.length + (text ? 1 : 0) > 1 ? ' INTERSECT ' : ' UNION ALL '
  const candidates = `${lists.map(({ sql }) => sql).join(how)} ${ending(stretch)}`
  const params = [...lists.flatMap((list) => list.params), stretch.limit, ...paramsOf(open)]
  if (open.length === 0) {
    return { sql: `SELECT ${SEEN}, json_group_array(id) AS ids FROM (${candidates})`, params }
  }
  const where = open.map(({ sql }) => sql).join(' AND ')
  const lines = `SELECT json_group_array(id) FROM candidates CROSS JOIN logs USING (id) WHERE ${where}`
  const sql = `WITH candidates AS MATERIALIZED (${candidates}) SELECT ${SEEN}, (${lines}) AS ids FROM candidates`
  return { sql, params }
}

const ending = ({ order }: Stretch) => `ORDER BY id ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`

const paramsOf = (conditions: readonly Condition[]) => conditions.flatMap(({ params }) => params)
