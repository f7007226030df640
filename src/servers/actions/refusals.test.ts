import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { expectLinear } from '../../../test/support/linear.ts'
import { DEFAULT_OPTIONS } from '../isolation.ts'
import { refusalsIn, widened } from './refusals.ts'

const home = '/home/anna'

test.each([
  ["Error: EROFS: read-only file system, open '/usr/lib/cache/x'", 'write', '/usr/lib/cache'],
  ["OSError: [Errno 30] Read-only file system: '/usr/lib/x'", 'write', '/usr/lib'],
  ['mkdir: cannot create directory ‘/usr/new’: Read-only file system', 'write', '/usr'],
  ["EACCES: permission denied, mkdir '/usr'", 'write', '/usr'],
  ['Cannot access directory /usr/lib, skipping', 'read', '/usr/lib'],
  ['getaddrinfo EAI_AGAIN api.example.com', 'network', null],
  ['connect ENETUNREACH 192.0.2.1:443', 'network', null],
])('%s is a refusal of kind %s', (line, kind, path) => {
  expect(refusalsIn([`first\n${line}\nlast`], home)).toEqual([{ kind, path, evidence: line }])
})

test('a missing path is a refusal only if it exists outside of the walls, or could be made there', () => {
  const own = ownFolder()
  mkdirSync(join(own, 'notes'))
  writeFileSync(join(own, 'notes/a.md'), '')
  const missing = (path: string) => refusalsIn([`ENOENT: no such file or directory, open '${path}'`], own)
  expect(missing(join(own, 'notes/a.md'))).toMatchObject([{ kind: 'read', path: join(own, 'notes/a.md') }])
  expect(missing('~/notes/a.md')).toMatchObject([{ kind: 'read', path: join(own, 'notes/a.md') }])
  expect(missing(join(own, 'notes/b.md'))).toMatchObject([{ kind: 'write', path: join(own, 'notes') }])
  expect(missing(join(own, 'b.md'))).toEqual([])
  expect(missing('/no/such/folder/b.md')).toEqual([])
})

test('each refusal is reported once, and opens one door', () => {
  const lines = ["EROFS: x, open '/usr/a'", "EROFS: x, open '/usr/b'", 'ENOTFOUND']
  const refusals = refusalsIn([lines.join('\n'), lines.join('\n')], home)
  expect(refusals.map(({ kind }) => kind)).toEqual(['write', 'network'])
  const options = { ...DEFAULT_OPTIONS, write: ['/data'], read: ['/usr', '/etc/x'] }
  expect(widened(options, refusals, home)).toEqual({
    ...DEFAULT_OPTIONS,
    write: ['/data', '/usr'],
    read: ['/etc/x'],
    network: 'full',
  })
  expect(widened(options, [], home)).toEqual(options)
  const inHome = { kind: 'write', path: '/home/anna/notes', evidence: '' } as const
  const readable = { ...DEFAULT_OPTIONS, read: ['~/notes'] }
  expect(widened(readable, [inHome], home)).toMatchObject({ write: ['~/notes'], read: [] })
})

test.each(["ENOENT '/", "'/", 'EROFS ', '‘~: EROFS', 'ENOENT', 'cannot open ', '~/'])(
  'text of %j is read in linear time',
  (piece) => {
    const text = piece.repeat(400_000 / piece.length)
    expectLinear((size) => refusalsIn([size === 'large' ? text : text.slice(0, 100_000)], home))
  },
)
