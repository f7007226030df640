import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { givenToServers, PLACES } from '../../../../test/support/places.ts'
import { get, post, register } from '../../../../test/support/running-servers.ts'
import { openTestService } from '../../../../test/support/test-service.ts'
import { add } from '../../../../test/support/with-servers.ts'

onDisk()

const FILESYSTEM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-filesystem/dist/index.js',
)
const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)

describe.skipIf(!hasSandbox)('with bubblewrap', () => {
  test('a trial says which folder the isolation kept from server-filesystem, and with the suggested ones it writes there', async () => {
    const service = await openTestService()
    const notes = join(ownFolder(), 'notes')
    mkdirSync(notes)
    givenToServers(notes)
    const file = join(notes, 'a.md')
    const definition = { name: 'files', command: process.execPath, args: [FILESYSTEM, notes] }
    expect((await add(service, { ...definition, start_mode: 'manual' })).statusCode).toBe(201)
    const calls = [{ tool: 'write_file', arguments: { path: file, content: 'written in isolation' } }]

    const tried = async (isolation_options?: object) =>
      (
        await post(service, '/api/servers/files/trial', { isolation: 'sandbox', isolation_options, calls })
      ).json()

    const closed = await tried()
    expect(closed, JSON.stringify(closed)).toMatchObject({
      ok: false,
      refused: [{ kind: 'read', path: notes }],
    })
    const readable = await tried(closed.suggested_options)
    expect(readable, JSON.stringify(readable)).toMatchObject({
      ok: true,
      calls: [{ tool: 'write_file', ok: false }],
      refused: [{ kind: 'write', path: notes }],
    })
    const open = await tried(readable.suggested_options)
    expect(open, JSON.stringify(open)).toMatchObject({ ok: true, refused: [], calls: [{ ok: true }] })
    expect(readFileSync(file, 'utf8')).toBe('written in isolation')
    expect(await get(service, 'files')).toMatchObject({ isolation: 'none', status: 'stopped' }) // nothing is stored
  })

  test('a trial lists files that were written in memory only, suggests their folder, and with it they are kept', async () => {
    const home = ownFolder()
    vi.stubEnv('HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = await openTestService()
    const drafts = join(home, 'drafts')
    mkdirSync(drafts)
    mkdirSync(join(home, '.cache'))
    givenToServers(home)
    const definition = { name: 'files', command: process.execPath, args: [FILESYSTEM, home] }
    const env = { API_KEY: 's3cret-0123456789' }
    expect((await add(service, { ...definition, env, start_mode: 'manual' })).statusCode).toBe(201)
    const write = (file: string) => ({
      tool: 'write_file',
      arguments: { path: join(home, file), content: 'x' },
    })
    const folder = (name: string) => ({ tool: 'create_directory', arguments: { path: join(home, name) } })
    const calls = [
      ...[folder('drafts'), folder('.cache'), write('.cache/a'), write('top')],
      ...[write('drafts/b'), write('drafts/s3cret-0123456789'), write('missing/c')],
    ]
    const tried = async (isolation_options?: object) =>
      (
        await post(service, '/api/servers/files/trial', { isolation: 'sandbox', isolation_options, calls })
      ).json()

    const closed = await tried()
    expect(closed, JSON.stringify(closed)).toMatchObject({
      ok: true,
      refused: [
        {
          kind: 'write',
          path: drafts,
          evidence: '~/drafts/b was written in memory only and is lost at the end',
          seen_in: 'lost_files',
        },
      ],
      lost_files: ['~/drafts/b', '~/drafts/***', '~/top', '~/.cache/a'],
      lost_file_count: 4,
      suggested_options: { write: ['~/drafts'], read: [] },
    })
    expect(existsSync(join(drafts, 'b'))).toBe(false)
    const open = await tried(closed.suggested_options)
    expect(open, JSON.stringify(open)).toMatchObject({
      refused: [],
      lost_files: ['~/top', '~/.cache/a'],
      lost_file_count: 2,
    })
    expect(readFileSync(join(drafts, 'b'), 'utf8')).toBe('x')
    const free = (await post(service, '/api/servers/files/trial', { calls: [] })).json()
    expect(free).toMatchObject({ isolation: 'none', lost_files: [], lost_file_count: 0 })
  })

  test('a working folder that was not granted is refused and suggested, one with keys is only refused', async () => {
    const home = ownFolder()
    vi.stubEnv('HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = await openTestService()
    for (const name of ['project', '.ssh']) {
      mkdirSync(join(home, name))
      const cwd = join(home, name)
      const definition = { name: name.replace('.', ''), command: process.execPath, args: ['-v'], cwd }
      expect((await add(service, { ...definition, start_mode: 'manual' })).statusCode).toBe(201)
      const found = (
        await post(service, `/api/servers/${definition.name}/trial`, { isolation: 'sandbox' })
      ).json()
      expect(found).toMatchObject({
        ok: false,
        error: { code: 'path_not_granted' },
        refused: [{ kind: 'read', path: cwd }],
        suggested_options: { read: name === 'project' ? ['~/project'] : [] },
      })
    }
  })

  test('files of a server that fails the handshake but still runs are listed, too', async () => {
    const home = ownFolder()
    vi.stubEnv('HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const service = await openTestService()
    const script = `require('node:fs').writeFileSync(process.env.HOME + '/state', ''); setInterval(() => {}, 1000)`
    const definition = { name: 'mute', command: process.execPath, args: ['-e', script] }
    expect(
      (await add(service, { ...definition, start_mode: 'manual', timeouts: { start_s: 2 } })).statusCode,
    ).toBe(201)
    const report = (await post(service, '/api/servers/mute/trial', { isolation: 'sandbox' })).json()
    expect(report, JSON.stringify(report)).toMatchObject({ ok: false, refused: [], lost_files: ['~/state'] })
  })

  test('a trial reports calls that fail in isolation, with the network and what they say', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const report = (
      await post(service, '/api/servers/echo/trial', {
        isolation: 'sandbox',
        calls: [
          { tool: 'echo', arguments: { text: "EROFS: read-only file system, open '/usr/lib/x'" } },
          { tool: 'nothing' },
        ],
      })
    ).json()
    expect(report, JSON.stringify(report)).toMatchObject({
      ok: true,
      isolation: 'sandbox',
      calls: [
        { tool: 'echo', ok: true },
        { tool: 'nothing', ok: false },
      ],
      refused: [{ kind: 'write', path: '/usr/lib' }],
      suggested_options: { write: ['/usr/lib'] },
    })
  })
})

test('without isolation nothing is refused, a server that does not exist is not found, and a bad isolation is an error', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  const call = { tool: 'echo', arguments: { text: "EROFS: x, open '/usr/x'" } }
  const report = (await post(service, '/api/servers/echo/trial', { calls: [call] })).json()
  expect(report).toMatchObject({ ok: true, isolation: 'none', calls: [{ ok: true }], refused: [] })
  expect((await post(service, '/api/servers/nothing/trial', {})).statusCode).toBe(404)
  expect((await post(service, '/api/servers/echo/trial', { isolation: 'container' })).statusCode).toBe(422)
  expect((await post(service, '/api/servers/echo/trial', { isolation: 'cage' })).statusCode).toBe(422)
})
