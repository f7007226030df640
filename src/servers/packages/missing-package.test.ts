import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { houseWithRegistry, install, installed, npmEnv, packages } from '../../../test/support/packages.ts'
import { type TestPackage, toolPackage } from '../../../test/support/registry/registry.ts'
import type { ServerView } from '../stdio/servers.schema.ts'

const MISSING = {
  code: 'package_not_found',
  message: "The package 'notes' is not installed",
  hint: 'Install it, or delete the server',
}
const REFUSAL = { status: 404, code: MISSING.code, detail: `'notes': ${MISSING.message}`, hint: MISSING.hint }

const post = (house: House, path: string, payload?: object) =>
  house.inject({
    method: 'POST',
    url: `/api/servers/notes/${path}`,
    headers: AUTHORISED,
    ...(payload && { payload }),
  })
const server = async (house: House) => (await house.inject('/api/servers/notes')).json<ServerView>()
const becomes = (house: House, expected: object) => expect.poll(() => server(house)).toMatchObject(expected)

async function houseWithServer(settings: object = {}, given: TestPackage = toolPackage('notes')) {
  const opened = await houseWithRegistry([given])
  await install(opened.house, { name: 'notes', create_server: true })
  await opened.house.inject({
    method: 'PATCH',
    url: '/api/servers/notes',
    headers: AUTHORISED,
    payload: { description: 'x', ...settings },
  })
  return opened
}

async function uninstall(house: House) {
  expect((await packages(house, 'DELETE', '/notes?force=true')).status).toBe(204)
}

test('a running server whose package is uninstalled stops, is failed with package_not_found, and is not retried', async () => {
  const { house } = await houseWithServer({ restart: { max_delay_s: 1 } })
  await becomes(house, { status: 'running' })
  await uninstall(house)
  await becomes(house, { status: 'failed', last_error: MISSING, next_retry_at: null })
  const { restart_count } = await server(house)
  await sleep(1500)
  expect(await server(house)).toMatchObject({ status: 'failed', restart_count })
})

test('a server that is waiting for its next retry is failed once its package is uninstalled', async () => {
  const { house } = await houseWithServer({}, toolPackage('notes', '1.0.0', { crash: true }))
  await becomes(house, { status: 'backoff' })
  await uninstall(house)
  await becomes(house, { status: 'failed', last_error: MISSING })
})

test('start and restart of a server without its package are refused with package_not_found', async () => {
  const { house } = await houseWithServer()
  await post(house, 'stop')
  await uninstall(house)
  for (const how of ['start', 'restart']) {
    expect((await post(house, how)).json()).toMatchObject({ ...REFUSAL, last_error: MISSING })
    expect(await server(house)).toMatchObject({ status: 'failed', last_error: MISSING })
  }
})

test('a call that would wake a server without its package is refused, and so is the next call', async () => {
  const { house } = await houseWithServer({ start_mode: 'on_demand', idle_timeout_s: 1 })
  await post(house, 'restart')
  await becomes(house, { status: 'idle' })
  await uninstall(house)
  expect(await server(house)).toMatchObject({ status: 'idle' })
  expect((await post(house, 'tools/echo/call', {})).json()).toMatchObject({ ...REFUSAL, last_error: MISSING })
  expect(await server(house)).toMatchObject({ status: 'failed', last_error: MISSING })
  expect((await post(house, 'tools/echo/call', {})).json()).toMatchObject({
    ...REFUSAL,
    detail: `'notes' has failed: ${MISSING.message}`,
  })
})

test('an eager server without its package is failed when Toolroom starts', async () => {
  const { house, home, registry } = await houseWithServer({ start_mode: 'eager' })
  await uninstall(house)
  await house.close()
  const again = await openHouse({ home, env: npmEnv(home, registry.url) })
  await becomes(again, { status: 'failed', last_error: MISSING })
})

test('a package whose files are gone is missing too, and installing it again starts its server', async () => {
  const { house } = await houseWithServer()
  await post(house, 'stop')
  const [{ path = '' } = {}] = await installed(house)
  rmSync(path, { recursive: true })
  const error = {
    code: 'package_not_found',
    message: "The program for the package 'notes' is missing from the disk",
    hint: 'Install the package again',
  }
  expect((await post(house, 'start')).json()).toMatchObject({
    status: 404,
    code: error.code,
    detail: `'notes': ${error.message}`,
    hint: error.hint,
  })
  await becomes(house, { status: 'failed', last_error: error })
  await install(house, { name: 'notes' })
  await becomes(house, { status: 'running', last_error: null })
  await uninstall(house)
  await becomes(house, { status: 'failed', last_error: MISSING })
  await install(house, { name: 'notes' })
  await becomes(house, { status: 'running', last_error: null })
})

test('an update of a package that is not installed is refused before any trial', async () => {
  const { house } = await houseWithServer()
  await uninstall(house)
  expect(await packages(house, 'POST', '/notes/update')).toMatchObject({
    status: 404,
    body: { code: 'package_not_found' },
  })
})

test('an agent gets no entry for a server without its package, and its file is not changed', async () => {
  const { house, home } = await houseWithServer()
  await uninstall(house)
  put(home, '.cursor/mcp.json', '{}')
  const url = '/api/agents/cursor/servers'
  const refused = await house.inject({
    method: 'PUT',
    url,
    headers: AUTHORISED,
    payload: { server_ids: ['notes'] },
  })
  expect(refused.json()).toMatchObject(REFUSAL)
  expect(textOf(home, '.cursor/mcp.json')).toBe('{}')
  expect((await house.inject('/api/agents/cursor')).statusCode).toBe(200)
  await install(house, { name: 'notes' })
  await done(house, 'PUT', '/cursor/servers', { server_ids: ['notes'] })
  expect(JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.notes.args[0]).toMatch(/server\.mjs$/)
})

test('a server whose native part was not built says so, is not retried, and starts once the scripts were allowed', async () => {
  const server = `import { existsSync } from 'node:fs'
if (!existsSync(new URL('built.node', import.meta.url)))
  throw new Error("Cannot find module '" + new URL('built.node', import.meta.url).pathname + "'")
await import('./real.mjs')
`
  const plain = toolPackage('notes')
  const given = toolPackage('notes', '1.0.0', {
    manifest: { scripts: { postinstall: 'node build.mjs' } },
    files: {
      'server.mjs': server,
      'real.mjs': String(plain.files?.['server.mjs']),
      'build.mjs': `import { writeFileSync } from 'node:fs'\nwriteFileSync('built.node', '')\n`,
    },
  })
  const { house } = await houseWithRegistry([given])
  const made = await install(house, { name: 'notes', create_server: true })
  expect(made).toMatchObject({ scripts_skipped: ['notes'], server: { id: 'notes', status: 'failed' } })
  await becomes(house, {
    status: 'failed',
    next_retry_at: null,
    last_error: {
      code: 'native_part_missing',
      message: "The native part of 'notes' is missing: 'notes' was installed without install scripts",
      hint: `Install 'notes' again with "allow_scripts": true, if you trust it`,
    },
  })
  await install(house, { name: 'notes', allow_scripts: true })
  await becomes(house, { status: 'running', last_error: null })
})

test('a server from a package gets the name that people use, and a number when that is taken', async () => {
  const names = ['@acme/mcp', 'acme-mcp-server', '@acme/mcp-server']
  const { house } = await houseWithRegistry(names.map((name) => toolPackage(name)))
  const ids: unknown[] = []
  for (const name of names) {
    const { server } = await install(house, { name, create_server: true })
    ids.push(server?.id)
  }
  expect(ids).toEqual(['acme', 'acme-2', 'acme-3'])
})
