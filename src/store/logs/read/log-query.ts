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
