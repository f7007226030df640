import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { expectLinear } from '../../../../test/support/linear.ts'
import type { IsolationOptions } from '../../../kernel/isolation-options.ts'
import { DEFAULT_OPTIONS } from '../isolation-settings.ts'
import { type Outside, refusalsIn, widened } from './isolation-refusals.ts'

onDisk()

const home = '/home/anna'
const CLOSED = DEFAULT_OPTIONS
const outside: Outside = { home, own: [], cwd: null, searchPath: '' }
const refused = (line: string, confinement: IsolationOptions = CLOSED, given: Partial<Outside> = {}) =>
  refusalsIn([`first\n${line}\nlast`], confinement, { ...outside, ...given })

test.each([
  ["Error: EROFS: read-only file system, open '/usr/lib/x'", '/usr/lib'],
  ["OSError: [Errno 30] Read-only file system: '/usr/lib/x'", '/usr/lib'],
  ['open /usr/lib/x: read-only file system', '/usr/lib'],
  ['mkdir: cannot create directory ‘/usr/lib/no/such/folder’: Read-only file system', '/usr/lib'],
])('%s is a write that was refused, and its path is the nearest folder that exists', (line, path) => {
  expect(refused(line)).toEqual([{ kind: 'write', path, evidence: line, seen_in: 'errors' }])
})

test.each([
  'getaddrinfo EAI_AGAIN api.example.com',
  'connect ENETUNREACH 192.0.2.1:443',
  'connect ECONNREFUSED 127.0.0.1:6379',
  'Error searching libraries: TypeError: fetch failed',
  'net::ERR_CONNECTION_REFUSED at http://127.0.0.1:8080/',
  'Unable to connect to https://sentry.example/api/0/ - DNS temporarily unavailable',
  "fatal: unable to access 'https://example.com/a.git/': Could not resolve host: example.com",
  'dial tcp: lookup example.com: no such host',
])('%s is a refusal of the network, unless the network is open', (line) => {
  expect(refused(line)).toEqual([{ kind: 'network', path: null, evidence: line, seen_in: 'errors' }])
  expect(refused(line, { ...CLOSED, network: 'full' })).toEqual([])
})

test('the evidence for the network is the line that names what was to be reached', () => {
  const lines = ['fetch failed', "  code: 'EAI_AGAIN',", '[cause]: Error: getaddrinfo EAI_AGAIN slack.com']
  expect(refused(lines.join('\n'))).toMatchObject([{ evidence: lines[2] }])
  expect(refused(lines.slice(0, 2).reverse().join('\n'))).toMatchObject([{ evidence: 'fetch failed' }])
})

test.each([
  (path: string) => `ENOENT: no such file or directory, open '${path}'`,
  (path: string) => `Cannot access directory ${path}, skipping`,
  (path: string) => `No files matching '${path}' were found.`,
  (path: string) => `Error: Working directory does not exist: ${path}`,
  (path: string) => `  "stack": "Error: Target path does not exist: ${path}\\n    at main (file:///a.js)"`,
  (path: string) => `Executable doesn't exist at ${path}`,
  (path: string) => `The file ${path} was not found: ${path} does not exist.`,
  (path: string) => `Not found: ${path}.`,
])('a path that exists outside of the isolation and was not found inside is a refusal: %s', (say) => {
  const own = ownFolder()
  mkdirSync(join(own, 'notes'))
  const line = say(join(own, 'notes'))
  const found = [{ kind: 'read', path: join(own, 'notes'), evidence: line.trim(), seen_in: 'errors' }]
  expect(refused(line, CLOSED, { home: own })).toEqual(found)
  expect(refused(line, { ...CLOSED, read: ['~/notes'] }, { home: own })).toEqual([])
  expect(refused(say(join(own, 'nothing')), { ...CLOSED, write: ['~/notes'] }, { home: own })).toEqual([])
})

test('a missing path is a refusal only if it exists outside of the isolation, or could be made there', () => {
  const own = ownFolder()
  mkdirSync(join(own, 'notes'))
  writeFileSync(join(own, 'notes/a.md'), '')
  const missing = (path: string, call = 'open') =>
    refused(`ENOENT: no such file or directory, ${call} '${path}'`, CLOSED, { home: own })
  expect(missing(join(own, 'notes/a.md'))).toMatchObject([{ kind: 'read', path: join(own, 'notes/a.md') }])
  expect(missing('~/notes/a.md')).toMatchObject([{ kind: 'read', path: join(own, 'notes/a.md') }])
  expect(missing(join(own, 'notes/b.md'))).toMatchObject([{ kind: 'write', path: join(own, 'notes') }])
  expect(missing(join(own, 'notes/b.md'), 'stat')).toEqual([]) // it looks, and makes nothing
  expect(missing(join(own, 'b.md'))).toEqual([])
  expect(missing('/no/such/folder/b.md')).toEqual([])
})

test('what a server sees in its isolation is not refused when it is missing: the system, its package, its folder', () => {
  const own = ownFolder()
  mkdirSync(join(own, 'data/packages'), { recursive: true })
  mkdirSync(join(own, 'project'))
  const given = { home: join(own, 'home'), own: [join(own, 'data')], cwd: join(own, 'project') }
  const missing = (path: string) => refused(`ENOENT: no such file, open '${path}'`, CLOSED, given)
  expect(missing('/etc/some-server.conf')).toEqual([])
  expect(missing('/dev/nothing')).toEqual([])
  expect(missing(join(own, 'project/.env'))).toEqual([])
  expect(missing(join(own, 'data/packages/x.json'))).toEqual([])
  expect(refused(`Cannot find module '${join(own, 'data/packages/mcp')}'`, CLOSED, given)).toEqual([])
})

test('rights that the user does not have outside of the isolation either are not refused by them', () => {
  const own = ownFolder()
  const line = `EACCES: permission denied, open '${join(own, 'a')}'`
  expect(refused(line)).toMatchObject([{ kind: 'write', path: own }])
  expect(refused(line, { ...CLOSED, write: [own] })).toEqual([])
  expect(refused("EACCES: permission denied, open '/proc/1/mem'")).toEqual([])
})

test('a program that was not found is a refusal if PATH leads to it outside of the isolation', () => {
  const own = ownFolder()
  for (const folder of ['bin', 'tool-1.0', 'browser']) mkdirSync(join(own, folder))
  const tool = program(join(own, 'tool-1.0/tool'))
  symlinkSync(tool, join(own, 'bin/tool'))
  const searchPath = `relative:/usr/bin:${join(own, 'bin')}`
  const paths = (line: string) => refused(line, CLOSED, { searchPath }).map(({ path }) => path)
  const both = [join(own, 'bin/tool'), join(own, 'tool-1.0')]
  expect(paths('Failed: spawnSync tool ENOENT')).toEqual(both)
  expect(paths('/bin/sh: 1: tool: not found')).toEqual(both)
  expect(paths('bash: line 1: tool: command not found')).toEqual(both)
  expect(paths('spawn no-such-tool ENOENT')).toEqual([])
  // It needs the files beside it.
  const browser = program(join(own, 'browser/chrome'))
  expect(paths(`Executable doesn't exist at ${browser}`)).toEqual([join(own, 'browser')])
})

test('each refusal is reported once, and is granted once', () => {
  const lines = ["EROFS: x, open '/usr/lib/a'", "EROFS: x, open '/usr/lib/b'", 'ENOTFOUND']
  const refusals = refusalsIn([lines.join('\n'), lines.join('\n')], CLOSED, outside)
  expect(refusals.map(({ kind }) => kind)).toEqual(['write', 'network'])
  const options = { ...CLOSED, write: ['/data'], read: ['/usr/lib', '/etc/x'] }
  expect(widened(options, refusals, outside)).toEqual({
    ...CLOSED,
    write: ['/data', '/usr/lib'],
    read: ['/etc/x'],
    network: 'full',
  })
  expect(widened(options, [], outside)).toEqual(options)
  const inHome = { kind: 'write', path: '/home/anna/notes', evidence: '', seen_in: 'errors' } as const
  const readable = { ...CLOSED, read: ['~/notes'] }
  expect(widened(readable, [inHome], outside)).toMatchObject({ write: ['~/notes'], read: [] })
})

test.each([
  '/',
  '/home',
  '/home/anna',
  '/usr',
  '/etc',
  '/var',
  '/srv/toolroom',
  '/srv/toolroom/packages/a',
  '/srv',
  '/home/anna/.ssh',
  '/home/anna/.ssh/id_ed25519',
  '/home/anna/.aws/credentials',
  '/home/anna/.npmrc',
  '/home/anna/.config',
  '/home/anna/.local/share',
])('no path is suggested to %s: everything, the home, the system, keys, or the files of Toolroom', (path) => {
  const own = { ...outside, own: ['/srv/toolroom'] }
  for (const kind of ['read', 'write'] as const)
    expect(widened(CLOSED, [{ kind, path, evidence: '', seen_in: 'errors' }], own)).toEqual(CLOSED)
})

test('no path is suggested that leads to keys, the home or sockets by .. or through a link, and others are without ..', () => {
  const [disk, elsewhere] = [ownFolder(), ownFolder()]
  const there = join(disk, 'home')
  for (const name of ['.ssh', 'notes', 'data']) mkdirSync(join(there, name), { recursive: true })
  const place = { ...outside, home: join(elsewhere, 'me'), own: [join(elsewhere, 'me/data')] }
  symlinkSync(there, place.home)
  for (const [name, target] of [
    ['keys', '.ssh'],
    ['home', '.'],
    ['own', 'data'],
  ] as const)
    symlinkSync(join(there, target), join(elsewhere, name))
  symlinkSync('/run', join(elsewhere, 'sockets'))
  const suggested = (path: string) =>
    widened(CLOSED, [{ kind: 'read', path, evidence: '', seen_in: 'errors' }], place).read
  for (const path of [
    'keys',
    'keys/id_ed25519',
    'home',
    'home/.ssh/x',
    'own',
    'own/token',
    'sockets/docker.sock',
  ])
    expect(suggested(join(elsewhere, path)), path).toEqual([])
  for (const path of [`${place.home}/notes/../.ssh`, '/var/run/docker.sock', '/srv/../var/run/docker.sock'])
    expect(suggested(path), path).toEqual([])
  expect(suggested(`${place.home}/data/../notes`)).toEqual(['~/notes'])
})

test('a server that writes beside its own program is refused that, and no path is suggested', () => {
  const own = ownFolder()
  const line = `EROFS: read-only file system, open '${join(own, 'memory.json')}'`
  const refusals = refused(line, CLOSED, { own: [own] })
  expect(refusals).toMatchObject([{ kind: 'write', path: own }])
  expect(widened(CLOSED, refusals, { ...outside, own: [own] })).toEqual(CLOSED)
})

test.each([
  ...["ENOENT '/", "'/", 'EROFS ', '‘~: EROFS', 'ENOENT', 'cannot open ', '~/', '/', ' /a', '/a: '],
  ...['spawn ', 'spawn a', 'sh: ', 'not found', 'getaddrinfo ', 'a: ', "ENOENT '"],
])('text of %j is read in linear time', (piece) => {
  const line = `${piece.repeat(3900 / piece.length)}\n`
  expectLinear((size) => refusalsIn([line.repeat(size === 'large' ? 100 : 25)], CLOSED, outside))
})

function program(file: string): string {
  writeFileSync(file, '')
  chmodSync(file, 0o755)
  return file
}
