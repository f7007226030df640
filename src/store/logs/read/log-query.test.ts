import { expect, test } from 'vitest'
import type { ResolvedFilter } from '../../../observe/logs/log-store.ts'
import { Connection } from '../../sqlite/connection.ts'
import { migrate } from '../../sqlite/database-file.ts'
import { LOG_SCHEMA } from '../log-schema.ts'
import { logQuery } from './log-query.ts'
import { openConditions } from './query-plan.ts'
import { listSql, scanSql } from './query-sql.ts'

const TABLE: [ResolvedFilter, indexes: string[], open: string[]][] = [
  [{}, [], []],
  [{ level: 'trace' }, [], []],
  [{ level: 'info' }, [], ['level']],
  [{ level: 'warn' }, ['logs_warn'], []],
  [{ level: 'error' }, ['logs_error'], []],
  [{ level: 'fatal' }, ['logs_fatal'], []],
  [{ server_id: ['a'] }, ['logs_server'], []],
  [{ server_id: ['a', 'b'] }, ['logs_server'], []],
  [{ server_id: ['a'], level: 'debug' }, ['logs_server'], ['level']],
  [{ server_id: ['a'], level: 'warn' }, ['logs_server_warn'], []],
  [{ server_id: ['a'], level: 'error' }, ['logs_error', 'logs_server_warn'], []],
  [{ source: ['gateway'] }, ['logs_source'], []],
  [{ source: ['gateway', 'server'] }, [], ['source']],
  [{ stream: ['stdout', 'mcp'] }, ['logs_stream'], []],
  [{ stream: ['stderr'] }, [], ['stream']],
  [{ agent_type: 'cursor', tool: 't' }, ['logs_agent', 'logs_tool'], []],
  [{ request_id: 'r', since: 1, until: 2 }, ['logs_request'], ['since', 'until']],
  [{ search: 'x', level: 'error' }, ['logs_error'], ['search']],
]

test.each(TABLE)(
  'the filter %j uses the indexes %j and leaves the conditions %j',
  (filter, indexes, open) => {
    const query = logQuery(filter)

    expect(query.accesses.map(({ index }) => index)).toEqual(indexes)
    expect(openConditions(query, query.accesses).map(({ on }) => on)).toEqual(open)
  },
)

test('clearing adds a condition that excludes audit lines', () => {
  expect(logQuery({}, true).conditions.map(({ sql }) => sql)).toEqual(["source <> 'audit'"])
})

test('user input never becomes part of a SQL statement', () => {
  const evil = "'; DROP TABLE logs; --"
  const filter = { server_id: [evil], tool: evil, request_id: evil, agent_type: evil, search: evil }
  const { conditions, accesses } = logQuery(filter)

  expect([...conditions.map(({ sql }) => sql), ...accesses.map(({ where }) => where)].join()).not.toContain(
    'DROP',
  )
})

test('SQLite accepts every named index, alone and in combination, without sorting', () => {
  const connection = new Connection(':memory:')
  migrate(connection, LOG_SCHEMA.migrations)
  for (const [filter] of TABLE) {
    for (const order of ['asc', 'desc'] as const) {
      const query = logQuery(filter)
      const slice = { first: 1, last: 1000, order, limit: 10 }
      const single = query.accesses.filter(({ lists }) => lists.length === 1)
      const together = single.length > 1 ? [single] : []
      const statements = [...query.accesses.map((access) => [access]), ...together].map((accesses) =>
        listSql(accesses, null, openConditions(query, accesses), slice),
      )
      for (const { sql, params } of [...statements, scanSql(query.conditions, slice)]) {
        const steps = connection.rows<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...params)
        expect(steps.map(({ detail }) => detail).filter((detail) => detail.includes('TEMP B-TREE'))).toEqual(
          [],
        )
      }
    }
  }
  connection.close()
})
