import type { Value } from '../../sqlite/sqlite.ts'
import type { Access, Condition } from './log-query.ts'

export type Order = 'asc' | 'desc'

/** Ids from `first` to `last`, both included, at most `limit` of them. */
export interface Slice {
  readonly first: number
  readonly last: number
  readonly order: Order
  readonly limit: number
}

/** A query for line ids in one part of the text index. */
export interface TextList {
  readonly table: string
  readonly match: string
}

export interface Sql {
  readonly sql: string
  readonly params: readonly Value[]
}

/**
 * The result row of every statement in this file: how many ids were checked, the lowest and the highest of them, and
 * the matching ids as a JSON array. One text is faster to pass to JavaScript than thousands of rows.
 */
export interface Found {
  readonly checked: number
  readonly lowest: number | null
  readonly highest: number | null
  readonly ids: string
}
const CHECKED = 'count(*) AS checked, min(id) AS lowest, max(id) AS highest'

/** Scans line by line. Only lines that meet the conditions count as checked. */
export function scanSql(conditions: readonly Condition[], slice: Slice): Sql {
  const where = ['id BETWEEN ? AND ?', ...conditions.map(({ sql }) => sql)].join(' AND ')
  const lines = `SELECT id FROM logs NOT INDEXED WHERE ${where} ${ending(slice)}`
  return {
    sql: `SELECT ${CHECKED}, json_group_array(id) AS ids FROM (${lines})`,
    params: [slice.first, slice.last, ...paramsOf(conditions), slice.limit],
  }
}

/** Merges or intersects lists of ids and checks the `open` conditions on those lines. */
export function listSql(
  accesses: readonly Access[],
  text: TextList | null,
  open: readonly Condition[],
  slice: Slice,
): Sql {
  const lists = accesses.flatMap(({ index, where, lists }) => {
    const sql = `SELECT id FROM logs INDEXED BY ${index} WHERE ${where} AND id BETWEEN ? AND ?`
    return lists.map((values) => ({ sql, params: [...values, slice.first, slice.last] }))
  })
  if (text) {
    const sql = `SELECT rowid AS id FROM ${text.table} WHERE ${text.table} MATCH ? AND rowid BETWEEN ? AND ?`
    lists.unshift({ sql, params: [text.match, slice.first, slice.last] })
  }
  // A plan has one access with many lists, or many accesses (and the text index) with one list each.
  const how = accesses.length + (text ? 1 : 0) > 1 ? ' INTERSECT ' : ' UNION ALL '
  const candidates = `${lists.map(({ sql }) => sql).join(how)} ${ending(slice)}`
  const params = [...lists.flatMap((list) => list.params), slice.limit, ...paramsOf(open)]
  if (open.length === 0) {
    return { sql: `SELECT ${CHECKED}, json_group_array(id) AS ids FROM (${candidates})`, params }
  }
  const where = open.map(({ sql }) => sql).join(' AND ')
  const lines = `SELECT json_group_array(id) FROM candidates CROSS JOIN logs USING (id) WHERE ${where}`
  const sql = `WITH candidates AS MATERIALIZED (${candidates}) SELECT ${CHECKED}, (${lines}) AS ids FROM candidates`
  return { sql, params }
}

const ending = ({ order }: Slice) => `ORDER BY id ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`

const paramsOf = (conditions: readonly Condition[]) => conditions.flatMap(({ params }) => params)
