import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { openSqlite, type Sqlite, sqliteTrouble } from './sqlite.ts'

/** What each way of asking says about the same trouble. */
function troubles(database: Sqlite, sql: string) {
  const ways = {
    exec: () => database.exec(sql),
    run: () => database.prepare(sql).run(),
    get: () => database.prepare(sql).get(),
    all: () => database.prepare(sql).all(),
    iterate: () => [...database.prepare(sql).iterate()],
  }
  return Object.entries(ways).map(([name, ask]) => {
    try {
      ask()
      return `${name}: none`
    } catch (error) {
      return `${name}: ${sqliteTrouble(error)}`
    }
  })
}

const all = (trouble: string) => ['exec', 'run', 'get', 'all', 'iterate'].map((way) => `${way}: ${trouble}`)

function open(path: string): Sqlite {
  const database = openSqlite(path)
  onTestFinished(() => database.close())
  return database
}

test('a locked file is busy, whatever way it is asked', () => {
  const path = join(ownFolder(), 'a.db')
  const [first, second] = [open(path), open(path)]
  first.exec('CREATE TABLE t (x); BEGIN EXCLUSIVE')
  expect(troubles(second, 'SELECT * FROM t')).toEqual(all('busy'))
})

test('a file of noise is damaged, whatever way it is asked', () => {
  const path = join(ownFolder(), 'a.db')
  writeFileSync(path, 'noise '.repeat(2000))
  expect(troubles(open(path), 'PRAGMA integrity_check')).toEqual(all('damaged'))
})

test('a mistake of ours is no trouble of the file', () => {
  expect(troubles(open(':memory:'), 'SELECT nonsense')).toEqual(all('undefined'))
})
