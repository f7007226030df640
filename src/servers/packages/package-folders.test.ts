import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { markFolder } from '../../kernel/files/durable-file.ts'
import { PackageFolders } from './package-folders.ts'
import type { InstalledVersion, PackageRecord } from './package-record.ts'

const noLinks = () => false

/** A package in these versions, of which the first is recorded as the one in use. */
const recorded = (version: string, previous?: string): PackageRecord => ({
  id: 'app',
  name: 'app',
  latest: version,
  current: installed(version),
  previous: previous === undefined ? null : installed(previous),
})

const installed = (version: string): InstalledVersion => ({
  version,
  requested: 'latest',
  bin: {},
  direct: [],
  size_bytes: 0,
  integrity: '',
  license: null,
  deprecated: null,
  engines: null,
  scripts: [],
  scripts_ran: false,
  asks_for_env: [],
  installed_at: 0,
})

function staged(folders: PackageFolders, version: string): string {
  const staging = folders.newStaging()
  mkdirSync(staging, { recursive: true })
  markFolder(staging)
  writeFileSync(join(staging, 'version'), version)
  return staging
}

const versionIn = (folder: string) => readFileSync(join(folder, 'version'), 'utf8')

describe('on a drive without links', () => {
  test('the version in use is the recorded one: installed, updated, rolled back and cleaned up', () => {
    const data = ownFolder()
    const folders = new PackageFolders(data, noLinks)
    for (const record of [recorded('1.0.0'), recorded('1.1.0', '1.0.0')]) {
      const { version } = record.current
      folders.place(staged(folders, version), record, version).use()
      expect(versionIn(folders.current(record))).toBe(version)
    }
    const back = recorded('1.0.0', '1.1.0')
    folders.place(null, back, '1.0.0').use()
    expect(versionIn(folders.current(back))).toBe('1.0.0')

    new PackageFolders(data, noLinks).cleanUp([back])
    expect(readdirSync(join(data, 'packages/app')).sort()).toEqual(['1.0.0', '1.1.0'])
    folders.cleanUp([])
    expect(existsSync(join(data, 'packages/app'))).toBe(false)
  })

  test('an install that is undone leaves the version before it in use, or nothing', () => {
    const data = ownFolder()
    const folders = new PackageFolders(data, noLinks)
    const before = recorded('1.0.0')
    const first = staged(folders, '1.0.0')
    const placed = folders.place(first, before, '1.0.0')
    placed.use()
    placed.undo()
    expect(versionIn(first)).toBe('1.0.0')
    expect(existsSync(join(data, 'packages/app'))).toBe(false)

    folders.place(first, before, '1.0.0').use()
    const next = folders.place(staged(folders, '1.1.0'), recorded('1.1.0', '1.0.0'), '1.1.0')
    next.use()
    next.undo(before)
    expect(versionIn(folders.current(before))).toBe('1.0.0')
    expect(readdirSync(join(data, 'packages/app'))).toEqual(['1.0.0'])
  })
})

test.skipIf(process.platform === 'win32')(
  'a link to another version is not used after a version is put in use without one',
  () => {
    const folders = new PackageFolders(ownFolder(), noLinks)
    const old = recorded('1.0.0')
    folders.place(staged(folders, '1.0.0'), old, '1.0.0').use()
    symlinkSync(folders.of(old, '1.0.0'), join(folders.of(old, '1.0.0'), '../current'))
    const next = recorded('1.1.0', '1.0.0')
    folders.place(staged(folders, '1.1.0'), next, '1.1.0').use()
    expect(versionIn(folders.current(next))).toBe('1.1.0')
  },
)

test('cleaning up deletes only what has our marker: other files and folders stay, also in the folder of a package', () => {
  const data = ownFolder()
  const folders = new PackageFolders(data)
  const record = recorded('1.0.0')
  folders.place(staged(folders, '1.0.0'), record, '1.0.0').use()
  const packages = join(data, 'packages')
  mkdirSync(join(packages, 'app/mine'))
  writeFileSync(join(packages, 'app/notes.txt'), 'mine')
  mkdirSync(join(packages, 'other/mine'), { recursive: true })
  markFolder(mkdirSync(join(packages, 'app/0.9.0'), { recursive: true }) ?? '')
  folders.cleanUp([record])
  expect(readdirSync(join(packages, 'app')).sort()).toEqual(['1.0.0', 'current', 'mine', 'notes.txt'])
  folders.cleanUp([])
  expect(readdirSync(join(packages, 'app')).sort()).toEqual(['mine', 'notes.txt'])
  expect(readdirSync(join(packages, 'other'))).toEqual(['mine'])
})
