import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PRIVATE_FILE } from '../../test/support/home-env.ts'
import { Closer } from '../compose/closer.ts'
import { isBlockedHost } from '../net/blocked-address.ts'
import { revisionOf } from '../servers/shared/server-fields.ts'
import { FactBus } from './fact-bus.ts'
import { writeDurably } from './files/durable-file.ts'
import { createLog, type LogEntry } from './log.ts'
import { ID_PATTERN, slugOf } from './rest-parts.ts'
import { Vault } from './secrets/vault.ts'

test.each([
  ['GitHub', 'github'],
  ['My Server (v2)', 'my-server-v2'],
  ['Crème brûlée', 'creme-brulee'],
  ['a.b_c-d', 'a.b_c-d'],
  ['  --x--  ', 'x'],
  ['x'.repeat(100), 'x'.repeat(64)],
])('the name %j becomes the id %s', (name, id) => {
  expect(slugOf(name)).toBe(id)
})

test('the slug of any name is empty or a valid id', () => {
  const isId = (slug: string) => slug === '' || new RegExp(ID_PATTERN).test(slug)
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (name) => isId(slugOf(name))))
})

describe('the vault', () => {
  test('the vault opens a sealed value only with the same key and place', () => {
    const vault = new Vault(randomBytes(32))
    const sealed = vault.seal('github:env', { TOKEN: 'canary' })
    expect(sealed).not.toContain('canary')
    expect(vault.open('github:env', sealed)).toEqual({ TOKEN: 'canary' })
    expect(() => vault.open('other:env', sealed)).toThrow()
    expect(() => new Vault(randomBytes(32)).open('github:env', sealed)).toThrow()
    expect(() => vault.open('github:env', 'plain')).toThrow('not encrypted as expected')
  })

  test('the vault seals the same value differently each time', () => {
    const vault = new Vault(randomBytes(32))
    expect(vault.seal('a', 1)).not.toBe(vault.seal('a', 1))
  })
})

test('a fact reaches every listener even if one of them throws', () => {
  const errors: unknown[] = []
  const bus = new FactBus((error) => errors.push(error))
  const received: string[] = []
  bus.on('server_added', () => {
    throw new Error('boom')
  })
  const off = bus.on('server_added', ({ server_id }) => received.push(server_id))
  bus.publish('server_added', { server_id: 'a', type: 'stdio' })
  off()
  bus.publish('server_added', { server_id: 'b', type: 'stdio' })
  expect(received).toEqual(['a'])
  expect(errors).toHaveLength(2)
})

test('the closer closes each step once, in reverse, and continues after a failure', async () => {
  const failed: string[] = []
  const closed: string[] = []
  const closer = new Closer((name) => failed.push(name))
  closer.add('a', () => closed.push('a'))
  closer.add('b', () => Promise.reject(new Error('no')))
  closer.add('c', async () => closed.push('c'))
  await Promise.all([closer.close(), closer.close()])
  expect({ closed, failed }).toEqual({ closed: ['c', 'a'], failed: ['b'] })
})

test('a log line has its level, its columns, and all other fields as data', () => {
  const lines: LogEntry[] = []
  const log = createLog(
    (line) => lines.push(line),
    'info',
    () => 1,
  )
  log.debug('below the minimum level')
  log.child({ server_id: 'a' }).warn({ pid: 7, error: new Error('boom') }, 'server failed')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({
    ts: 1,
    level: 'warn',
    source: 'service',
    server_id: 'a',
    message: 'server failed',
  })
  expect(lines[0]?.data).toMatchObject({ pid: 7, error: { name: 'Error', message: 'boom' } })
})

test('a durable write replaces the file, keeps its mode, and leaves no temporary file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'token')
  writeDurably(path, 'one', 0o600)
  writeDurably(path, 'two', 0o600)
  expect(readFileSync(path, 'utf8')).toBe('two')
  expect(statSync(path).mode & 0o777).toBe(PRIVATE_FILE)
  expect(readdirSync(folder)).toEqual(['token'])
})

test.each([
  ['169.254.169.254', true],
  ['[::ffff:169.254.169.254]', true],
  ['[::ffff:a9fe:a9fe]', true],
  ['[fe80::1]', true],
  ['[fd00:ec2::254]', true],
  ['metadata.google.internal', true],
  ['metadata.google.internal.', true],
  ['127.0.0.1', false],
  ['[::1]', false],
  ['10.0.0.1', false],
  ['example.com', false],
])('the host %s is blocked: %s', (host, blocked) => {
  expect(isBlockedHost(host)).toBe(blocked)
})

test.each([
  [undefined, undefined],
  ['*', undefined],
  ['"3"', 3],
  ['W/"3"', 3],
  ['3', 3],
  ['"abc"', 'unknown'],
] as const)('the If-Match header %s means revision %s', (header, revision) => {
  expect(revisionOf(header)).toBe(revision)
})
