import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { Connection } from './connection.ts'
import { openSqlite, type Sqlite } from './sqlite.ts'
import { sqliteErrorKind } from './sqlite-errors.ts'

/** The kind of error that each call reports. */
function errorKinds(database: Sqlite, sql: string) {
  const calls = {
    exec: () => database.exec(sql),
    run: () => database.prepare(sql).run(),
    get: () => database.prepare(sql).get(),
    all: () => database.prepare(sql).all(),
    iterate: () => [...database.prepare(sql).iterate()],
  }
  return Object.entries(calls).map(([name, call]) => {
    try {
      call()
      return `${name}: none`
    } catch (error) {
      return `${name}: ${sqliteErrorKind(error)}`
    }
  })
}

const all = (kind: string) => ['exec', 'run', 'get', 'all', 'iterate'].map((name) => `${name}: ${kind}`)

function open(path: string): Sqlite {
  const database = openSqlite(path)
  onTestFinished(() => database.close())
  return database
}

test('every call on a locked file fails with the kind busy', () => {
  const path = join(ownFolder(), 'a.db')
  const [first, second] = [open(path), open(path)]
  first.exec('CREATE TABLE t (x); BEGIN EXCLUSIVE')
  expect(errorKinds(second, 'SELECT * FROM t')).toEqual(all('busy'))
})

test('every call on a file that is not a database fails with the kind damaged', () => {
  const path = join(ownFolder(), 'a.db')
  writeFileSync(path, 'noise '.repeat(2000))
  expect(errorKinds(open(path), 'PRAGMA integrity_check')).toEqual(all('damaged'))
})

test('an invalid statement has no error kind', () => {
  expect(errorKinds(open(':memory:'), 'SELECT nonsense')).toEqual(all('undefined'))
})

test('a transaction that fails changes nothing, and the next one is committed', () => {
  const path = join(ownFolder(), 'a.db')
  const connection = new Connection(path)
  onTestFinished(() => connection.close())
  connection.exec('CREATE TABLE t (x)')
  const halfDone = () => {
    connection.run('INSERT INTO t VALUES (1)')
    throw new Error('half done')
  }
  expect(() => connection.transaction(halfDone)).toThrow('half done')
  connection.transaction(() => connection.run('INSERT INTO t VALUES (2)'))
  const rows = open(path).prepare('SELECT x FROM t').all()
  expect(rows.map(({ x }) => x)).toEqual([2])
})
