import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { houseWithRegistry, install, installed, npmEnv, packages } from '../../../test/support/packages.ts'
import { type TestPackage, toolPackage } from '../../../test/support/registry/registry.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { ServerView } from '../stdio/servers.schema.ts'

const MISSING = {
  code: 'package_not_found',
  message: "The package 'notes' is not installed",
  hint: 'Install it, or delete the server',
}
const REFUSAL = { status: 404, code: MISSING.code, detail: `'notes': ${MISSING.message}`, hint: MISSING.hint }

const post = (service: TestService, path: string, payload?: object) =>
  service.inject({
    method: 'POST',
    url: `/api/servers/notes/${path}`,
    headers: AUTHORISED,
    ...(payload && { payload }),
  })
const server = async (service: TestService) => (await service.inject('/api/servers/notes')).json<ServerView>()
const becomes = (service: TestService, expected: object) =>
  expect.poll(() => server(service)).toMatchObject(expected)

async function houseWithServer(settings: object = {}, given: TestPackage = toolPackage('notes')) {
  const opened = await houseWithRegistry([given])
  await install(opened.service, { name: 'notes', create_server: true })
  await opened.service.inject({
    method: 'PATCH',
    url: '/api/servers/notes',
    headers: AUTHORISED,
    payload: { description: 'x', ...settings },
  })
  return opened
}

async function uninstall(service: TestService) {
  expect((await packages(service, 'DELETE', '/notes?force=true')).status).toBe(204)
}

test('a running server whose package is uninstalled stops, is failed with package_not_found, and is not retried', async () => {
  const { service } = await houseWithServer({ restart: { max_delay_s: 1 } })
  await becomes(service, { status: 'running' })
  await uninstall(service)
  await becomes(service, { status: 'failed', last_error: MISSING, next_retry_at: null })
  const { restart_count } = await server(service)
  await sleep(1500)
  expect(await server(service)).toMatchObject({ status: 'failed', restart_count })
})

test('a server that is waiting for its next retry is failed once its package is uninstalled', async () => {
  const { service } = await houseWithServer({}, toolPackage('notes', '1.0.0', { crash: true }))
  await becomes(service, { status: 'backoff' })
  await uninstall(service)
  await becomes(service, { status: 'failed', last_error: MISSING })
})

test('start and restart of a server without its package are refused with package_not_found', async () => {
  const { service } = await houseWithServer()
  await post(service, 'stop')
  await uninstall(service)
  for (const how of ['start', 'restart']) {
    expect((await post(service, how)).json()).toMatchObject({ ...REFUSAL, last_error: MISSING })
    expect(await server(service)).toMatchObject({ status: 'failed', last_error: MISSING })
  }
})

test('a call that would wake a server without its package is refused, and so is the next call', async () => {
  const { service } = await houseWithServer({ start_mode: 'on_demand', idle_timeout_s: 1 })
  await post(service, 'restart')
  await becomes(service, { status: 'idle' })
  await uninstall(service)
  expect(await server(service)).toMatchObject({ status: 'idle' })
  expect((await post(service, 'tools/echo/call', {})).json()).toMatchObject({
    ...REFUSAL,
    last_error: MISSING,
  })
  expect(await server(service)).toMatchObject({ status: 'failed', last_error: MISSING })
  expect((await post(service, 'tools/echo/call', {})).json()).toMatchObject({
    ...REFUSAL,
    detail: `'notes' has failed: ${MISSING.message}`,
  })
})

test('an eager server without its package is failed when Toolroom starts', async () => {
  const { service, home, registry } = await houseWithServer({ start_mode: 'eager' })
  await uninstall(service)
  await service.close()
  const again = await openTestService({ home, env: npmEnv(home, registry.url) })
  await becomes(again, { status: 'failed', last_error: MISSING })
})

test('a package whose files are gone is missing too, and installing it again starts its server', async () => {
  const { service } = await houseWithServer()
  await post(service, 'stop')
  const [{ path = '' } = {}] = await installed(service)
  rmSync(path, { recursive: true })
  const error = {
    code: 'package_not_found',
    message: "The program for the package 'notes' is missing from the disk",
    hint: 'Install the package again',
  }
  expect((await post(service, 'start')).json()).toMatchObject({
    status: 404,
    code: error.code,
    detail: `'notes': ${error.message}`,
    hint: error.hint,
  })
  await becomes(service, { status: 'failed', last_error: error })
  await install(service, { name: 'notes' })
  await becomes(service, { status: 'running', last_error: null })
  await uninstall(service)
  await becomes(service, { status: 'failed', last_error: MISSING })
  await install(service, { name: 'notes' })
  await becomes(service, { status: 'running', last_error: null })
})

test('an update of a package that is not installed is refused before any trial', async () => {
  const { service } = await houseWithServer()
  await uninstall(service)
  expect(await packages(service, 'POST', '/notes/update')).toMatchObject({
    status: 404,
    body: { code: 'package_not_found' },
  })
})

test('an agent gets no entry for a server without its package, and its file is not changed', async () => {
  const { service, home } = await houseWithServer()
  await uninstall(service)
  put(home, '.cursor/mcp.json', '{}')
  const url = '/api/agents/cursor/servers'
  const refused = await service.inject({
    method: 'PUT',
    url,
    headers: AUTHORISED,
    payload: { server_ids: ['notes'] },
  })
  expect(refused.json()).toMatchObject(REFUSAL)
  expect(textOf(home, '.cursor/mcp.json')).toBe('{}')
  expect((await service.inject('/api/agents/cursor')).statusCode).toBe(200)
  await install(service, { name: 'notes' })
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['notes'] })
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
  const { service } = await houseWithRegistry([given])
  const made = await install(service, { name: 'notes', create_server: true })
  expect(made).toMatchObject({ scripts_skipped: ['notes'], server: { id: 'notes', status: 'failed' } })
  await becomes(service, {
    status: 'failed',
    next_retry_at: null,
    last_error: {
      code: 'native_part_missing',
      message: "The native part of 'notes' is missing: 'notes' was installed without install scripts",
      hint: `Install 'notes' again with "allow_scripts": true, if you trust it`,
    },
  })
  await install(service, { name: 'notes', allow_scripts: true })
  await becomes(service, { status: 'running', last_error: null })
})

test('a server from a package gets the name that people use, and a number when that is taken', async () => {
  const names = ['@acme/mcp', 'acme-mcp-server', '@acme/mcp-server']
  const { service } = await houseWithRegistry(names.map((name) => toolPackage(name)))
  const ids: unknown[] = []
  for (const name of names) {
    const { server } = await install(service, { name, create_server: true })
    ids.push(server?.id)
  }
  expect(ids).toEqual(['acme', 'acme-2', 'acme-3'])
})
