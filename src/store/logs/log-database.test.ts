import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { filter, line, order } from '../../../test/support/arbitrary-lines.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { idsOf, openDatabase, randomText, settle } from '../../../test/support/log-database.ts'
import { entry, ModelLog } from '../../../test/support/log-model.ts'
import type { ResolvedFilter, StoredEntry } from '../../observe/logs/log-store.ts'
import { Connection } from '../sqlite/connection.ts'
import { migrate } from '../sqlite/database-file.ts'
import { TextIndex } from './index/text-index.ts'
import { LOG_SCHEMA } from './log-schema.ts'
import { readHistogram } from './read/histogram.ts'
import { LineWriter } from './write/line-writer.ts'

const openHere = () => openDatabase(join(ownFolder(), 'logs.db'))

test('every plan returns the same lines, no matter how many lines are indexed', async () => {
  const database = openHere()
  const model = new ModelLog()
  const lines = fc.sample(line, { numRuns: 2500, seed: 2 })
  // The same lines four times, so that lists are long enough to be intersected.
  for (let round = 0; round < 4; round++) {
    model.append(lines)
    database.append(lines)
    if (round === 1) settle(database)
    if (round === 2) database.maintain()
  }
  const queries = vi.spyOn(Connection.prototype, 'row')
  onTestFinished(() => queries.mockRestore())
  let found = 0
  const property = fc.asyncProperty(filter, order, async (filter, order) => {
    const expected = model.ids(filter, order)
    const first = await database.page({ filter, order, limit: 300, after: null })
    const next = await database.page({ filter, order, limit: 300, after: first.next })

    expect(first.items.map(({ id }) => id)).toEqual(expected.slice(0, 300))
    expect(first.total).toBe(expected.length > 10_000 ? null : expected.length)
    if (first.next !== null) expect(next.items.map(({ id }) => id)).toEqual(expected.slice(300, 600))
    expect(next.total).toBe(first.total)
    if (expected.length > 0) found += 1
  })
  const examples: [ResolvedFilter, 'asc' | 'desc'][] = [
    [{ agent_type: 'a', tool: 'b' }, 'desc'],
    [{ server_id: ['a', 'b'] }, 'asc'],
    [{ search: 'café 50%' }, 'desc'],
  ]
  await fc.assert(property, { numRuns: 50, examples })
  settle(database)
  await fc.assert(property, { numRuns: 50, examples })
  const statements = queries.mock.calls.map(([sql]) => sql).join('\n')

  expect(found).toBeGreaterThan(40)
  expect(statements).toMatch(/MATERIALIZED.*MATCH/)
  expect(statements).toMatch(/INDEXED BY.*INTERSECT.*INDEXED BY/)
  expect(statements).toMatch(/INDEXED BY.*UNION ALL/)
  expect(statements).toMatch(/NOT INDEXED/)
})

test.each([
  ['a word', 'needle', 'a needle in it'],
  ['a word in another case', 'NEEDLE', 'a Needle in it'],
  ['non-ASCII letters', 'übergröße', 'die ÜBERGRÖßE'],
  ['two letters', 'nz', 'a xnz'],
  ['two letters at the end', 'qz', 'ends in qz'],
  ['one letter', '§', 'see § 5'],
  ['one letter with two cases', 'Ö', 'das ö'],
  ['a quote', 'say "x', 'they say "x"'],
  ['a percent sign', '0%', 'at 100% now'],
  ['an underscore', 'a_c', 'a_c'],
  ['a backslash', 'C:\\t', 'C:\\temp'],
  ['brackets and stars', 'ä[*]?', 'x Ä[*]? y'],
  ['an FTS5 operator', 'NOT "a" OR', 'a NOT "a" OR b'],
  ['Japanese text', '検索', '全文検索だ'],
  ['a character outside of the basic plane', '😀😀', 'ok 😀😀'],
  ['a line break', 'one\ntwo', 'one\ntwo'],
  ['a long term', 'x'.repeat(256), 'x'.repeat(300)],
])('a search for %s finds the line before and after it is indexed', async (_, search, message) => {
  const database = openHere()
  const others = Array.from({ length: 200 }, (_, index) => entry({ message: `other line ${index} abc 1 0` }))
  database.append([...others, entry({ message })])

  expect(await idsOf(database, { search })).toEqual([201])
  settle(database)
  expect(await idsOf(database, { search })).toEqual([201])
  database.append([entry({ message })])
  expect(await idsOf(database, { search })).toEqual([201, 202])
})

test('a search and a level that each match many lines are answered by intersecting two lists', async () => {
  const database = openHere()
  const lines = Array.from({ length: 30_000 }, (_, index) => {
    const message = index % 12 === 0 ? `needle ${index}` : `straw ${index}`
    return entry({ message, level: index % 10 === 0 ? 'error' : 'info' })
  })
  database.append(lines)
  settle(database)
  const queries = vi.spyOn(Connection.prototype, 'row')
  onTestFinished(() => queries.mockRestore())
  const { total, items } = await database.page({
    filter: { search: 'needle', level: 'error' },
    order: 'desc',
    limit: 2,
    after: null,
  })

  expect(queries.mock.calls.map(([sql]) => sql).join('\n')).toMatch(/MATCH.*INTERSECT.*logs_error/)
  expect(total).toBe(500)
  expect(items.map(({ id }) => id)).toEqual([29_941, 29_881])
})

test('every search is complete when SQLite has no FTS5', async () => {
  const rows = vi.spyOn(Connection.prototype, 'rows')
  onTestFinished(() => rows.mockRestore())
  rows.mockImplementation(() => [])
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path)
  rows.mockRestore()
  database.append([entry({ message: 'a needle in it' }), entry({ message: 'nothing' })])
  settle(database)

  expect(await idsOf(database, { search: 'needle' })).toEqual([1])
  expect(await idsOf(database, { search: 'ng' })).toEqual([2])
})

test('a line that contains only parts of the search term is not found', async () => {
  const database = openHere()
  database.append([
    entry({ message: 'abcd xbcde' }),
    entry({ message: 'abcde' }),
    entry({ message: '50 percent' }),
  ])
  settle(database)

  expect(await idsOf(database, { search: 'abcde' })).toEqual([2])
  expect(await idsOf(database, { search: '50%' })).toEqual([])
})

test('a time filter finds all lines although the clock was changed several times', async () => {
  const database = openHere()
  const clock = [5000, 1000, 9000, 2000, 5000]
  for (const start of clock) {
    database.append(Array.from({ length: 1500 }, (_, index) => entry({ ts: start + index })))
  }
  const { total } = await database.page({
    filter: { since: 5000, until: 5010 },
    order: 'desc',
    limit: 5,
    after: null,
  })
  expect(total).toBe(22)
  expect(await idsOf(database, { since: 10_499 })).toEqual([4500])
  expect(await idsOf(database, { until: 1000 })).toEqual([1501])
})

test('lines can be written during a long read', async () => {
  const database = openHere()
  const lines: StoredEntry[] = Array.from({ length: 1000 }, () => entry({ message: randomText().repeat(20) }))
  for (let round = 0; round < 20; round++) database.append(lines)
  let done = false
  const read = database
    .page({ filter: { search: 'Öabsent' }, order: 'desc', limit: 10, after: null })
    .finally(() => {
      done = true
    })
  let writtenDuringRead = 0
  while (!done) {
    database.append([entry({ message: 'öabsent' })])
    writtenDuringRead += 1
    await new Promise((resolve) => setImmediate(resolve))
  }

  expect(await read).toMatchObject({ items: [], total: 0 })
  expect(writtenDuringRead).toBeGreaterThan(3)
})

test('a histogram says how many further lines the counted ones stand for', async () => {
  const connection = new Connection(join(ownFolder(), 'logs.db'))
  onTestFinished(() => connection.close())
  migrate(connection, LOG_SCHEMA.migrations)
  const writer = new LineWriter(connection)
  writer.write([1, 7, 3].map((repeat) => ({ ...entry({ ts: repeat, server_id: 'a' }), repeat })))
  const index = new TextIndex(connection, { part: 1, indexStep: 1 })
  const context = { connection, index, upTo: writer.highestId, pause: async () => {} }
  // Numbers of more than 32 bits are bound as REAL by every driver.
  for (const step of [1000, 2 ** 32])
    expect(await readHistogram(context, { filter: {}, step })).toMatchObject({
      counts: [{ start: 0, lines: 3 }],
      folded: 8,
    })
})

test('a histogram that takes too long has the newest lines and says from when', async () => {
  const connection = new Connection(join(ownFolder(), 'logs.db'))
  onTestFinished(() => connection.close())
  migrate(connection, LOG_SCHEMA.migrations)
  const writer = new LineWriter(connection)
  for (let n = 0; n < 40; n++)
    writer.write(Array.from({ length: 1000 }, (_, k) => entry({ ts: n * 1000 + k, server_id: 'a' })))
  const index = new TextIndex(connection, { part: 1, indexStep: 1 })
  const context = { connection, index, upTo: writer.highestId, pause: async () => {} }
  const { counts, from } = await readHistogram(context, { filter: {}, step: 10_000 }, 0)
  const all = await readHistogram(context, { filter: {}, step: 10_000 })

  expect(all).toMatchObject({ from: null, counts: { length: 4 } })
  expect(from).toBe(40_000 - 16_384)
  expect(counts.reduce((sum, { lines }) => sum + lines, 0)).toBe(16_384)
})
