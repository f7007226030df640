import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { Backups } from './backups.ts'

test('a clock that was set back neither deletes a new backup of the configuration nor makes an older one the newest (R16)', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const folder = ownFolder()
  const database = openSqlite(join(folder, 'toolroom.db'))
  onTestFinished(() => database.close())
  const backups = new Backups(folder)
  for (let change = 1; change <= 10; change += 1) {
    vi.setSystemTime(Date.UTC(2036 - change, 10, 15))
    backups.take(database, change)
    expect(backups.newest()).toMatch(new RegExp(`-${change}\\.db$`))
  }
  const changes = readdirSync(join(folder, 'backups')).map((name) => /-(\d+)\.db$/.exec(name)?.[1])
  expect(changes.map(Number).sort((a, b) => a - b)).toEqual([4, 5, 6, 7, 8, 9, 10])
})
