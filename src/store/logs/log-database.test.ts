import { statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import type { ResolvedFilter, StoredEntry } from '../../logs/log-store.ts'
import { filter, line, order } from './arbitrary-lines.ts'
import { LineWriter } from './line-writer.ts'
import { LogDatabase } from './log-database.ts'
import { entry, ModelLog } from './model.ts'

const MIB = 1024 * 1024

function openDatabase(path = join(ownFolder(), 'logs.db'), maxBytes = 64 * MIB): LogDatabase {
  const onDamaged = (message: string) => {
    throw new Error(message)
  }
  const database = new LogDatabase({ path, maxBytes, onDamaged })
  onTestFinished(() => database.close())
  return database
}

async function ids(database: LogDatabase, filter: ResolvedFilter): Promise<number[]> {
  const { items } = await database.page({ filter, order: 'asc', limit: 1000, after: null })
  return items.map(({ id }) => id)
}

function settle(database: LogDatabase): void {
  while (database.tend());
}

test('every plan gives the same answer, whatever part of the lines is indexed', async () => {
  const database = openDatabase()
  const model = new ModelLog()
  const lines = fc.sample(line, { numRuns: 3000, seed: 2 })
  // Four times the same, so that lists are long enough to be met with one another.
  for (let round = 0; round < 4; round++) {
    model.append(lines)
    database.append(lines)
    if (round === 1) settle(database)
    if (round === 2) database.tend()
  }
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
  await fc.assert(property, { numRuns: 150 })
  settle(database)
  await fc.assert(property, { numRuns: 150 })
  expect(found).toBeGreaterThan(100)
})

test.each([
  ['a word', 'needle', 'a needle in it'],
  ['another case', 'NEEDLE', 'a Needle in it'],
  ['other letters', 'übergröße', 'die ÜBERGRÖßE'],
  ['two letters', 'nz', 'a xnz'],
  ['two letters at the end', 'qz', 'ends in qz'],
  ['one letter', '§', 'see § 5'],
  ['one letter with two cases', 'Ö', 'das ö'],
  ['a quote', 'say "x', 'they say "x"'],
  ['a percent sign', '0%', 'at 100% now'],
  ['an underscore', 'a_c', 'a_c'],
  ['a backslash', 'C:\\t', 'C:\\temp'],
  ['brackets and stars', 'ä[*]?', 'x Ä[*]? y'],
  ['what FTS5 would read as a command', 'NOT "a" OR', 'a NOT "a" OR b'],
  ['Chinese', '検索', '全文検索だ'],
  ['beyond the first plane', '😀😀', 'ok 😀😀'],
  ['a line break', 'one\ntwo', 'one\ntwo'],
  ['a long term', 'x'.repeat(256), 'x'.repeat(300)],
])('%s is found before and after it is indexed', async (_, search, message) => {
  const database = openDatabase()
  const others = Array.from({ length: 200 }, (_, index) => entry({ message: `other line ${index} abc 1 0` }))
  database.append([...others, entry({ message })])

  expect(await ids(database, { search })).toEqual([201])
  settle(database)
  expect(await ids(database, { search })).toEqual([201])
  database.append([entry({ message })])
  expect(await ids(database, { search })).toEqual([201, 202])
})

test('a term is not found where only its pieces are', async () => {
  const database = openDatabase()
  database.append([
    entry({ message: 'abcd xbcde' }),
    entry({ message: 'abcde' }),
    entry({ message: '50 percent' }),
  ])
  settle(database)

  expect(await ids(database, { search: 'abcde' })).toEqual([2])
  expect(await ids(database, { search: '50%' })).toEqual([])
})

test('times are found although the clock was set back and forth', async () => {
  const database = openDatabase()
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
  expect(await ids(database, { since: 10_499 })).toEqual([4500])
  expect(await ids(database, { until: 1000 })).toEqual([1501])
})

test('a flood never makes the files larger than the cap, and the newest lines stay', {
  timeout: 30_000,
}, async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, 8 * MIB)
  const size = (end: string) => statSync(path + end, { throwIfNoEntry: false })?.size ?? 0
  let largest = 0
  let lastId = 0
  for (let round = 0; round < 50; round++) {
    const lines = Array.from({ length: 500 }, () => {
      lastId += 1
      const rare = lastId % 250 === 0 ? 'y'.repeat(20_000) : ''
      return entry({ server_id: `s${lastId % 7}`, message: `line ${lastId} ${randomText()} ${rare}` })
    })
    database.append(lines)
    for (let step = 0; step < 6; step++) database.tend()
    largest = Math.max(largest, size('') + size('-wal'))
  }
  settle(database)
  const oldest = (await database.page({ filter: {}, order: 'asc', limit: 1, after: null })).items[0]?.id ?? 0

  expect(largest).toBeLessThanOrEqual(8 * MIB)
  expect(largest).toBeGreaterThan(4 * MIB)
  expect(oldest).toBeGreaterThan(1000)
  expect(lastId - oldest).toBeGreaterThan(3000)
  expect(await ids(database, { search: `line ${lastId - 1} ` })).toEqual([lastId - 1])
  expect(await ids(database, { search: `line ${oldest - 1} ` })).toEqual([])
})

const randomText = () => Array.from({ length: 15 }, () => Math.random().toString(36).slice(2, 8)).join(' ')

test('one append that is larger than the whole cap keeps its end', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, 8 * MIB)
  const lines = Array.from({ length: 300 }, () => entry({ message: 'z'.repeat(64 * 1024) }))
  database.append(lines)

  const kept = await database.page({ filter: {}, order: 'desc', limit: 1, after: null })
  expect(kept.items[0]?.id).toBe(300)
  expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThanOrEqual(8 * MIB)
})

test('a cap that was lowered is reached behind the scenes', async () => {
  const path = join(ownFolder(), 'logs.db')
  const before = openDatabase(path, 64 * MIB)
  before.append(Array.from({ length: 500 }, () => entry({ message: 'a'.repeat(20_000) })))
  before.close()
  expect(statSync(path).size).toBeGreaterThan(9 * MIB)
  const database = openDatabase(path, 8 * MIB)
  database.append([entry({ message: 'newest' })])
  settle(database)
  database.checkpoint()

  expect(statSync(path).size).toBeLessThan(8 * MIB)
  expect(await ids(database, { search: 'newest' })).toEqual([501])
})

test('a clear gives the room back', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path)
  const lines = Array.from({ length: 8000 }, (_, index) =>
    entry({ server_id: `s${index % 4}`, message: randomText() }),
  )
  database.append([...lines, entry({ source: 'audit', message: 'kept' })])
  settle(database)
  database.checkpoint()
  const full = statSync(path).size
  expect(await database.clear({ server_id: ['s0', 's1', 's2'] })).toBe(6000)
  settle(database)
  database.checkpoint()
  const some = statSync(path).size
  expect(await database.clear({})).toBe(2000)
  settle(database)
  database.checkpoint()

  expect(some).toBeLessThan(full / 2)
  expect(statSync(path).size).toBeLessThan(full / 10)
  expect(await ids(database, { search: 'kept' })).toEqual([8001])
  expect(await ids(database, { since: 0 })).toEqual([8001])
})

test('a full disk costs the oldest lines, and the newest are stored', async () => {
  const database = openDatabase()
  database.append(Array.from({ length: 10_000 }, () => entry()))
  diskIsFull(1)
  database.append([entry({ message: 'newest' })])

  const oldest = (await database.page({ filter: {}, order: 'asc', limit: 1, after: null })).items[0]?.id
  expect(oldest).toBeGreaterThan(1)
  expect(await ids(database, { search: 'newest' })).toEqual([10_001])
})

test('a disk that stays full refuses lines and takes them again later', async () => {
  const database = openDatabase()
  database.append([entry({ message: 'before' })])
  const full = diskIsFull(2)

  expect(() => database.append([entry()])).toThrow(expect.objectContaining({ code: 'disk_full' }))
  full.mockRestore()
  database.append([entry({ message: 'after' })])
  expect(await ids(database, { search: 'after' })).toEqual([2])
})

function diskIsFull(times: number) {
  const write = vi.spyOn(LineWriter.prototype, 'write')
  onTestFinished(() => write.mockRestore())
  for (let time = 0; time < times; time++) {
    write.mockImplementationOnce(() => {
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    })
  }
  return write
}

test('writing goes on while a long reading is under way', async () => {
  const database = openDatabase()
  const lines: StoredEntry[] = Array.from({ length: 1000 }, () => entry({ message: randomText().repeat(20) }))
  for (let round = 0; round < 20; round++) database.append(lines)
  let done = false
  const reading = database
    .page({ filter: { search: 'Öabsent' }, order: 'desc', limit: 10, after: null })
    .finally(() => {
      done = true
    })
  let writtenMeanwhile = 0
  while (!done) {
    database.append([entry({ message: 'öabsent' })])
    writtenMeanwhile += 1
    await new Promise((resolve) => setImmediate(resolve))
  }

  expect(await reading).toMatchObject({ items: [], total: 0 })
  expect(writtenMeanwhile).toBeGreaterThan(3)
})
