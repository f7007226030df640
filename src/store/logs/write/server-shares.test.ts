import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { idsOf, MIB, openDatabase, randomText, settle } from '../../../../test/support/log-database.ts'
import { entry } from '../../../../test/support/log-model.ts'
import { Connection } from '../../sqlite/connection.ts'
import type { LogDatabase } from '../log-database.ts'
import { sharesOf } from './server-shares.ts'

const CAP = 8 * MIB
const SHARE = CAP / 8

const lines = (count: number, server_id: string, more = {}) =>
  Array.from({ length: count }, (_, n) => entry({ server_id, message: `${n} ${randomText()}`, ...more }))

/** Writes far more than the share of a server, with some maintenance in between. */
function flood(database: LogDatabase, rounds = 30): void {
  for (let round = 0; round < rounds; round++) {
    database.append(lines(500, 'flood'))
    for (let step = 0; step < 6; step++) database.maintain()
  }
}

/** The stored sizes, and the sizes computed from all lines. */
function sharesIn(path: string) {
  const connection = new Connection(path)
  try {
    const sql = 'SELECT server_id, bytes FROM shares ORDER BY server_id'
    const stored = connection.rows<{ server_id: string; bytes: number }>(sql)
    const small = connection.row<{ spans: number; parts: number }>(
      'SELECT (SELECT count(*) FROM spans) AS spans, (SELECT count(*) FROM parts) AS parts',
    )
    return { stored, computed: connection.rows(`${sharesOf('true')} ORDER BY server_id`), ...small }
  } finally {
    connection.close()
  }
}

test('a server that floods the log displaces its own oldest lines, not those of other servers or audit lines', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, CAP)
  database.append([
    ...lines(300, 'quiet'),
    ...lines(100, 'flood', { source: 'audit', data: '{}' }),
    entry({ message: 'without server' }),
  ])
  flood(database)
  settle(database)

  expect(await idsOf(database, { server_id: ['quiet'] })).toHaveLength(300)
  expect(await idsOf(database, { server_id: ['flood'], source: ['audit'] })).toHaveLength(100)
  expect(await idsOf(database, { search: 'without server' })).toEqual([401])
  const { items } = await database.page({
    filter: { server_id: ['flood'], source: ['server'] },
    order: 'desc',
    limit: 1,
    after: null,
  })
  expect(items[0]?.id).toBe(401 + 30 * 500)
  const { stored, computed } = sharesIn(path)
  expect(stored).toEqual(computed)
  const share = stored.find(({ server_id }) => server_id === 'flood')?.bytes
  expect(share).toBeLessThanOrEqual(SHARE)
  expect(share).toBeGreaterThan(SHARE * 0.6)
})

test('the displaced lines of a flood leave no spans and no parts of the text index behind', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, CAP)
  database.append(lines(10, 'quiet'))
  flood(database, 15)
  settle(database)
  const before = sharesIn(path)
  flood(database, 25)
  settle(database)
  const after = sharesIn(path)

  expect(after.spans).toBeLessThanOrEqual((before.spans ?? 0) + 3)
  expect(after.parts).toBeLessThanOrEqual((before.parts ?? 0) + 2)
  const all = await idsOf(database, { server_id: ['flood'], search: '499 ' })
  const read = await idsOf(database, { server_id: ['flood'], search: '99 ', since: 0 })
  expect(all.length).toBeGreaterThan(5)
  expect(read).toEqual(expect.arrayContaining(all))
})

test('an append that is larger than a share keeps its newest lines', async () => {
  const database = openDatabase(join(ownFolder(), 'logs.db'), CAP)
  database.append(lines(10, 'quiet'))
  database.append(lines(100, 'flood', { message: 'z'.repeat(64 * 1024) }))
  const ids = await idsOf(database, { server_id: ['flood'] })

  expect(ids.at(-1)).toBe(110)
  expect(ids.length * 2 * 64 * 1024).toBeLessThanOrEqual(SHARE)
  expect(await idsOf(database, { server_id: ['quiet'] })).toHaveLength(10)
})

test('the stored sizes stay correct after clears, trims and lines with any characters', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, 8 * MIB)
  for (let round = 0; round < 40; round++) {
    const mixed = Array.from({ length: 12 }, (_, n) => lines(40, `s${n}`, { data: '{"ä":"🎈"}' })).flat()
    database.append([...mixed, entry({ server_id: 's\ud800', message: 'half \ud800 and \0 none' })])
    if (round % 10 === 4) await database.clear({ server_id: ['s1', 's2'], search: '7' })
    database.maintain()
  }
  const { stored, computed } = sharesIn(path)
  expect(stored.length).toBeGreaterThan(10)
  expect(stored).toEqual(computed)
  await database.clear({})
  expect(sharesIn(path)).toMatchObject({ stored: [], computed: [] })
})

test('a log without stored sizes is migrated when it is opened', () => {
  const path = join(ownFolder(), 'logs.db')
  const before = openDatabase(path)
  before.append([...lines(50, 'a'), ...lines(20, 'b'), ...lines(5, 'b', { source: 'audit' })])
  before.close()
  const { stored } = sharesIn(path)
  const connection = new Connection(path)
  connection.exec('DROP TABLE shares; ALTER TABLE parts DROP COLUMN gone; PRAGMA user_version = 1')
  connection.close()
  openDatabase(path).close()

  expect(sharesIn(path).stored).toEqual(stored)
})
