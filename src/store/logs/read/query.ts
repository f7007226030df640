import { LEVEL_RANK } from '../../../kernel/log.ts'
import type { ResolvedFilter } from '../../../observe/logs/log-store.ts'
import type { Value } from '../../sqlite/sqlite.ts'
import { type IndexTerms, searchText, storable } from '../index/search-text.ts'

/** A filter as SQL. All user input is passed in parameters. */
export interface LogQuery {
  /** A line must meet all of them. */
  readonly conditions: readonly Condition[]
  /** Indexes that can be used to find the lines. */
  readonly accesses: readonly Access[]
  /** Null without a search. */
  readonly terms: IndexTerms | null
}

type Subject = keyof ResolvedFilter | 'audit'

export interface Condition {
  readonly on: Subject
  readonly sql: string
  readonly params: readonly Value[]
}

/** Lists of ids in an index, one for each value. */
export interface Access {
  readonly index: string
  /** Contains the WHERE clause of the index literally. */
  readonly where: string
  readonly lists: readonly (readonly Value[])[]
  /** Conditions that every line of the lists meets. */
  readonly covers: readonly Subject[]
}

export function logQuery(filter: ResolvedFilter, keepAudit = false): LogQuery {
  const { level, since, until, search } = filter
  const conditions: Condition[] = []
  const add = (on: Subject, sql: string, ...params: Value[]) => conditions.push({ on, sql, params })
  const rank = LEVEL_RANK[level ?? 'trace']
  if (rank > LEVEL_RANK.trace) add('level', `level >= ${rank}`)
  for (const column of LISTS) {
    const values = filter[column]
    if (values) add(column, `${column} IN (${values.map(() => '?').join(', ')})`, ...values)
  }
  for (const column of LABELS) {
    const value = filter[column]
    if (value !== undefined) add(column, `${column} = ?`, storable(value))
  }
  if (since !== undefined) add('since', 'ts >= ?', since)
  if (until !== undefined) add('until', 'ts <= ?', until)
  const text = search === undefined ? undefined : searchText(search)
  if (text) add('search', text.sql, ...text.params)
  if (keepAudit) add('audit', "source <> 'audit'")
  return { conditions, accesses: accessesOf(filter, rank), terms: text ?? null }
}

const LISTS = ['source', 'stream', 'server_id'] as const
const LABELS = ['agent_type', 'tool', 'request_id'] as const

function accessesOf(filter: ResolvedFilter, rank: number): Access[] {
  const { source, stream, server_id, agent_type, tool, request_id } = filter
  const found: Access[] = []
  const add = (index: string, where: string, lists: readonly (readonly Value[])[], ...covers: Subject[]) =>
    found.push({ index, where, lists, covers })
  const severe = rank >= LEVEL_RANK.warn

  if (rank === LEVEL_RANK.fatal) add('logs_fatal', 'level >= 60', [[]], 'level')
  if (rank === LEVEL_RANK.error) add('logs_error', 'level >= 50', [[]], 'level')
  if (rank === LEVEL_RANK.warn && !server_id) add('logs_warn', 'level >= 40', [[]], 'level')
  if (server_id && severe) {
    const covers: Subject[] = rank === LEVEL_RANK.warn ? ['server_id', 'level'] : ['server_id']
    add('logs_server_warn', 'server_id = ? AND level >= 40', oneEach(server_id), ...covers)
  } else if (server_id) {
    add('logs_server', 'server_id = ? AND server_id IS NOT NULL', oneEach(server_id), 'server_id')
  }
  // The most common values have no index: a scan finds them faster.
  if (source && !source.includes('server')) {
    add('logs_source', "source = ? AND source <> 'server'", oneEach(source), 'source')
  }
  if (stream && !stream.includes('stderr')) {
    const where = "stream = ? AND stream IS NOT NULL AND stream <> 'stderr'"
    add('logs_stream', where, oneEach(stream), 'stream')
  }
  for (const [index, column, value] of [
    ['logs_agent', 'agent_type', agent_type],
    ['logs_tool', 'tool', tool],
    ['logs_request', 'request_id', request_id],
  ] as const) {
    if (value === undefined) continue
    add(index, `${column} = ? AND ${column} IS NOT NULL`, [[storable(value)]], column)
  }
  return found
}

/** Without duplicates, which would return the same lines twice. */
function oneEach(values: readonly string[]): Value[][] {
  return [...new Set(values)].map((value) => [value])
}

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
