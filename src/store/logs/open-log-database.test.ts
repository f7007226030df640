import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../test/support/home-env.ts'
import { entry } from '../../../test/support/log-model.ts'
import type { StoredEntry } from '../../observe/logs/log-store.ts'
import { Connection } from '../sqlite/connection.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { LogDatabase } from './log-database.ts'
import { SqliteLogStore } from './sqlite-log-store.ts'

const MAX_BYTES = 64 * 1024 * 1024

interface TestLog {
  readonly path: string
  readonly reports: string[]
  readonly open: () => SqliteLogStore
}

function testLog(): TestLog {
  const path = join(ownFolder(), 'data', 'logs.db')
  const reports: string[] = []
  const onDamaged = (message: string) => reports.push(message)
  const onError = ({ message }: Error) => reports.push(message)
  const open = () => {
    const logs = new SqliteLogStore({ path, maxBytes: MAX_BYTES, onDamaged, onError })
    onTestFinished(() => logs.close())
    return logs
  }
  return { path, reports, open }
}

const lines = (count: number): StoredEntry[] =>
  Array.from({ length: count }, (_, index) => entry({ message: `line ${index}`, server_id: 'docs' }))

const messages = async (logs: SqliteLogStore, search: string) => {
  const { items } = await logs.page({ filter: { search }, order: 'asc', limit: 1000, after: null })
  return items.map(({ message }) => message)
}

const asideFiles = ({ path }: TestLog) =>
  readdirSync(dirname(path)).filter((name) => name.startsWith('logs.db.damaged-'))

test('the log files are readable only by their owner, even if they existed before', async () => {
  const { path, open } = testLog()
  const logs = open()
  await logs.append(lines(10))
  const mode = (file: string) => statSync(file).mode & 0o777

  expect([path, `${path}-wal`, `${path}-shm`].map(mode)).toEqual([PRIVATE_FILE, PRIVATE_FILE, PRIVATE_FILE])
  expect(mode(dirname(path))).toBe(PRIVATE_FOLDER)
  await logs.close()
  chmodSync(path, 0o644)
  await open().check()
  expect(mode(path)).toBe(PRIVATE_FILE)
})

test('closing the log leaves a single file with all lines', async () => {
  const { path, open } = testLog()
  const logs = open()
  await logs.append(lines(100))
  await logs.close()

  expect(readdirSync(dirname(path))).toEqual(['logs.db'])
  expect(await messages(open(), 'line 99')).toEqual(['line 99'])
})

test.each<[string, (path: string) => void]>([
  ['is not a database', (path) => writeFileSync(path, 'Dear diary, '.repeat(1000))],
  ['is truncated', (path) => truncateSync(path, 40_960)],
  ['has an overwritten first page', (path) => overwrite(path, 0, 4096)],
  ['has overwritten newest lines', (path) => overwrite(path, statSync(path).size / 2, statSync(path).size)],
  ['comes from a newer Toolroom', (path) => setVersion(path, 99)],
])('a log file that %s is set aside and replaced by an empty one', async (_, damage) => {
  const home = testLog()
  const before = home.open()
  await before.append(lines(5000))
  await before.close()
  damage(home.path)
  const logs = home.open()
  await logs.append([entry({ message: 'first new line' })])

  expect(await messages(logs, 'first new')).toEqual(['first new line'])
  expect(home.reports).toEqual([expect.stringContaining(dirname(home.path))])
  const [aside] = asideFiles(home)
  expect(aside).toMatch(/^logs\.db\.damaged-\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\d\.\d{3}Z$/)
  expect(statSync(join(dirname(home.path), aside ?? '')).size).toBeGreaterThan(4096)
})

test('damage found during operation fails one read, and the log continues in an empty file', async () => {
  const home = testLog()
  const before = home.open()
  await before.append(lines(20_000))
  await before.close()
  const size = statSync(home.path).size
  overwrite(home.path, 40_960, size - 40_960)
  const logs = home.open()
  const reports = home.reports.length

  if (reports === 0) await expect(messages(logs, 'absent')).rejects.toMatchObject({ code: 'store_damaged' })
  await logs.append([entry({ message: 'first new line' })])
  expect(await messages(logs, 'first new')).toEqual(['first new line'])
  expect(home.reports).toHaveLength(1)
  expect(asideFiles(home).length).toBeGreaterThan(0)
})

test('a damaged text index is rebuilt without losing lines or results', async () => {
  const { path, reports } = testLog()
  const onDamaged = (message: string) => reports.push(message)
  const database = new LogDatabase({ path, maxBytes: MAX_BYTES, onDamaged })
  onTestFinished(() => database.close())
  const search = async (term: string) =>
    (await database.page({ filter: { search: term }, order: 'asc', limit: 10, after: null })).total
  database.append(lines(3000))
  while (database.maintain());
  const damageIndex = () => {
    const other = openSqlite(path) as Sqlite & { enableDefensive?: (on: boolean) => void }
    other.enableDefensive?.(false)
    other.exec("UPDATE text_1_data SET block = x'00' WHERE id > 10")
    other.close()
  }
  damageIndex()

  expect(await search('line 2999')).toBe(1)
  expect(await search('zq')).toBe(0)
  while (database.maintain());
  expect(await search('line 1234')).toBe(1)
  damageIndex()
  for (let round = 0; round < 20; round++) {
    database.append(lines(500))
    database.maintain()
  }
  while (database.maintain());
  expect(await search('line 499')).toBe(21)
  expect(reports).toEqual([])
})

test('a copy of the log file and its write-ahead log, taken during operation, can be opened', async () => {
  const home = testLog()
  const logs = home.open()
  await logs.append(lines(3000))
  const copy = testLog()
  await copy.open().close()
  for (const end of ['', '-wal']) copyFileSync(home.path + end, copy.path + end)

  expect(await messages(copy.open(), 'line 2999')).toEqual(['line 2999'])
  expect(copy.reports).toEqual([])
})

function overwrite(path: string, from: number, to: number): void {
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xa5, Math.floor(from), Math.floor(to)))
}

function setVersion(path: string, version: number): void {
  const connection = new Connection(path)
  connection.exec(`PRAGMA user_version = ${version}`)
  connection.close()
}
