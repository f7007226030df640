import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { add } from '../../../test/support/furnished.ts'
import { openHouse } from '../../../test/support/house.ts'
import { PLACES } from '../../../test/support/places.ts'
import { get, post, register } from '../../../test/support/running.ts'

const FILESYSTEM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-filesystem/dist/index.js',
)
const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)

describe.skipIf(!hasSandbox)('with bubblewrap', () => {
  test('a trial says which folder the walls kept from server-filesystem, and with the suggested ones it writes there', async () => {
    const house = await openHouse()
    const notes = join(ownFolder(), 'notes')
    mkdirSync(notes)
    const file = join(notes, 'a.md')
    const definition = { name: 'files', command: process.execPath, args: [FILESYSTEM, notes] }
    expect((await add(house, { ...definition, start_mode: 'manual' })).statusCode).toBe(201)
    const calls = [{ tool: 'write_file', arguments: { path: file, content: 'written behind walls' } }]

    const tried = async (isolation_options?: object) =>
      (
        await post(house, '/api/servers/files/trial', { isolation: 'sandbox', isolation_options, calls })
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
    expect(readFileSync(file, 'utf8')).toBe('written behind walls')
    expect(await get(house, 'files')).toMatchObject({ isolation: 'none', status: 'stopped' }) // nothing is stored
  })

  test('a trial reports calls that fail behind the walls, with the network and what they say', async () => {
    const house = await openHouse()
    await register(house, 'echo')
    const report = (
      await post(house, '/api/servers/echo/trial', {
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

test('without walls nothing is refused, a server that does not exist is not found, and bad walls are an error', async () => {
  const house = await openHouse()
  await register(house, 'echo')
  const call = { tool: 'echo', arguments: { text: "EROFS: x, open '/usr/x'" } }
  const report = (await post(house, '/api/servers/echo/trial', { calls: [call] })).json()
  expect(report).toMatchObject({ ok: true, isolation: 'none', calls: [{ ok: true }], refused: [] })
  expect((await post(house, '/api/servers/nothing/trial', {})).statusCode).toBe(404)
  expect((await post(house, '/api/servers/echo/trial', { isolation: 'container' })).statusCode).toBe(422)
  expect((await post(house, '/api/servers/echo/trial', { isolation: 'walls' })).statusCode).toBe(422)
})
