import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { idsOf, MIB, openDatabase, randomText, settle } from '../../../../test/support/log-database.ts'
import { entry } from '../../../../test/support/log-model.ts'
import type { Discarded } from '../../../observe/logs/log-store.ts'
import { TextIndex } from '../index/text-index.ts'
import { LogDatabase } from '../log-database.ts'
import { LineWriter } from './line-writer.ts'

test('a flood of lines never makes the files larger than the cap, and the newest lines are kept', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, 8 * MIB)
  const size = (end: string) => statSync(path + end, { throwIfNoEntry: false })?.size ?? 0
  let largest = 0
  let lastId = 0
  for (let round = 0; round < 30; round++) {
    const lines = Array.from({ length: 200 }, () => {
      lastId += 1
      const rare = lastId % 100 === 0 ? 'y'.repeat(20_000) : ''
      return entry({
        server_id: `s${lastId % 7}`,
        message: `line ${lastId} ${randomText().repeat(6)} ${rare}`,
      })
    })
    database.append(lines)
    for (let step = 0; step < 6; step++) database.maintain()
    largest = Math.max(largest, size('') + size('-wal'))
  }
  settle(database)
  const oldest = (await database.page({ filter: {}, order: 'asc', limit: 1, after: null })).items[0]?.id ?? 0

  expect(largest).toBeLessThanOrEqual(8 * MIB)
  expect(largest).toBeGreaterThan(4 * MIB)
  expect(oldest).toBeGreaterThan(1000)
  expect(lastId - oldest).toBeGreaterThan(1000)
  expect(await idsOf(database, { search: `line ${lastId - 1} ` })).toEqual([lastId - 1])
  expect(await idsOf(database, { search: `line ${oldest - 1} ` })).toEqual([])
})

test('an append that is larger than the cap keeps its newest lines', async () => {
  const path = join(ownFolder(), 'logs.db')
  const database = openDatabase(path, 8 * MIB)
  const lines = Array.from({ length: 200 }, () => entry({ message: 'z'.repeat(64 * 1024) }))
  database.append(lines)

  const kept = await database.page({ filter: {}, order: 'desc', limit: 1, after: null })
  expect(kept.items[0]?.id).toBe(200)
  expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThanOrEqual(8 * MIB)
})

test('a lowered cap is reached by background maintenance', async () => {
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
  expect(await idsOf(database, { search: 'newest' })).toEqual([501])
})

test('clearing lines shrinks the file', async () => {
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
  expect(await idsOf(database, { search: 'kept' })).toEqual([8001])
  expect(await idsOf(database, { since: 0 })).toEqual([8001])
})

test('a write that fails because the disk is full is repeated with the space of the write-ahead log, and deletes nothing', async () => {
  const database = openDatabase(join(ownFolder(), 'logs.db'))
  database.append(Array.from({ length: 1000 }, () => entry()))
  failWithFullDisk(1)
  database.append([entry({ message: 'newest' })])

  expect(await idsOf(database, { search: 'newest' })).toEqual([1001])
  const { total } = await database.page({ filter: {}, order: 'asc', limit: 1, after: null })
  expect(total).toBe(1001)
})

test('behind a quota, which the free space does not show, the oldest lines make room and are counted', async () => {
  const discarded: Discarded[] = []
  const path = join(ownFolder(), 'logs.db')
  const onDiscarded = (lines: readonly Discarded[]) => discarded.push(...lines)
  const database = new LogDatabase({ path, maxBytes: 64 * MIB, onDamaged: expect.unreachable, onDiscarded })
  onTestFinished(() => database.close())
  const line = { server_id: 'a', stream: 'stderr', repeat: 2, message: 'x'.repeat(100) } as const
  database.append(Array.from({ length: 100 }, () => entry(line)))
  failWithFullDisk(2)
  database.append([entry({ message: 'newest' })])

  const { items, total } = await database.page({ filter: {}, order: 'desc', limit: 1, after: null })
  expect(items[0]).toMatchObject({ id: 101, message: 'newest' })
  const gone = 101 - (total ?? 0)
  expect(gone).toBeGreaterThan(0)
  expect(discarded).toEqual([{ server_id: 'a', lines: gone * 2 }])
})

test('no line is deleted when the text index does not fit on the disk', async () => {
  const database = openDatabase(join(ownFolder(), 'logs.db'))
  database.append(Array.from({ length: 100 }, () => entry({ message: 'a needle' })))
  const step = vi.spyOn(TextIndex.prototype, 'step').mockImplementation(() => {
    throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
  })
  onTestFinished(() => step.mockRestore())

  expect(database.maintain()).toBe(false)
  expect(step).toHaveBeenCalledOnce()
  expect(await idsOf(database, { search: 'needle' })).toHaveLength(100)
})

test('lines are refused while the disk stays full and accepted again afterwards', async () => {
  const database = openDatabase(join(ownFolder(), 'logs.db'))
  database.append([entry({ message: 'before' })])
  const full = failWithFullDisk(3)

  expect(() => database.append([entry()])).toThrow(expect.objectContaining({ code: 'disk_full' }))
  full.mockRestore()
  database.append([entry({ message: 'after' })])
  expect(await idsOf(database, { search: 'after' })).toEqual([2])
})

function failWithFullDisk(times: number) {
  const write = vi.spyOn(LineWriter.prototype, 'write')
  onTestFinished(() => write.mockRestore())
  for (let time = 0; time < times; time++) {
    write.mockImplementationOnce(() => {
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    })
  }
  return write
}
