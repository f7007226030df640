import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { some } from '../../../test/support/full-or-short.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { houseWithRegistry, install, installed, npmEnv, packages } from '../../../test/support/packages.ts'
import { toolPackage } from '../../../test/support/registry/registry.ts'
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

/** A service with the package and its server, prepared once because npm takes a second. It is closed. */
const prepared = sharedByTests(async () => {
  const { service, registry, home } = await houseWithRegistry([toolPackage('notes')])
  await install(service, { name: 'notes', create_server: true })
  await service.close()
  return { registry, home }
})

/** A copy of it for one test, with its server running. */
async function houseWithServer(settings: object = {}) {
  const { registry, home: from } = await prepared()
  const home = ownFolder()
  cpSync(from, home, { recursive: true, verbatimSymlinks: true })
  const service = await openTestService({ home, env: npmEnv(home, registry.url) })
  await post(service, 'start')
  await service.inject({
    method: 'PATCH',
    url: '/api/servers/notes',
    headers: AUTHORISED,
    payload: { description: 'x', ...settings },
  })
  return { registry, home, service }
}

/** For the tests that need npm: each service asks it for its version and its settings. */
const withNpm = sharedByTests(() => houseWithServer())

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
  const { service } = await houseWithServer()
  const [{ path = '' } = {}] = await installed(service)
  writeFileSync(join(path, 'node_modules/notes/server.mjs'), 'process.exitCode = 3')
  await post(service, 'restart')
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
  const { service } = await withNpm()
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
  expect(await installed(service)).toMatchObject([{ status: 'broken' }])
  expect(await install(service, { name: 'notes', version: '1.0.0' })).toMatchObject({ status: 'installed' })
  expect(readdirSync(join(service.data, 'packages/.staging'))).toEqual([])
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

test('an agent gets no entry for a server without its package, and both work again with another version of it', async () => {
  const { service, registry, home } = await withNpm()
  await uninstall(service)
  await becomes(service, { status: 'failed', last_error: MISSING })
  expect((await post(service, 'restart')).json()).toMatchObject(REFUSAL)
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
  registry.publish(toolPackage('notes', '1.1.0'))
  await install(service, { name: 'notes', version: '1.1.0' })
  await becomes(service, { status: 'running', last_error: null })
  expect((await post(service, 'restart')).statusCode).toBe(200)
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['notes'] })
  expect(JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.notes.args[0]).toMatch(/server\.mjs$/)
})

test('a server whose native part was not built says so, is not retried, and starts once the scripts were allowed', async () => {
  const server = `import { existsSync } from 'node:fs'
if (!existsSync(new URL('built.node', import.meta.url)))
  throw new Error("Cannot find module '" + new URL('built.node', import.meta.url).pathname + "'")
await import('./real.mjs')
`
  const plain = toolPackage('built')
  const given = toolPackage('built', '1.0.0', {
    manifest: { scripts: { postinstall: 'node build.mjs' } },
    files: {
      'server.mjs': server,
      'real.mjs': String(plain.files?.['server.mjs']),
      'build.mjs': `import { writeFileSync } from 'node:fs'\nwriteFileSync('built.node', '')\n`,
    },
  })
  const { service, registry } = await withNpm()
  registry.publish(given)
  const made = await install(service, { name: 'built', create_server: true })
  expect(made).toMatchObject({ scripts_skipped: ['built'], server: { id: 'built', status: 'failed' } })
  const view = async () => (await service.inject('/api/servers/built')).json<ServerView>()
  await expect.poll(view).toMatchObject({
    status: 'failed',
    next_retry_at: null,
    last_error: {
      code: 'native_part_missing',
      message: "The native part of 'built' is missing: 'built' was installed without install scripts",
      hint: `Install 'built' again with its install scripts, if you trust it`,
    },
  })
  await install(service, { name: 'built', allow_scripts: true })
  await expect.poll(view).toMatchObject({ status: 'running', last_error: null })
})

test('a server from a package gets the name that people use, and a number when that is taken', async () => {
  const names = some(['@acme/mcp', '@acme/mcp-server', 'acme-mcp-server'], 2)
  const { service, registry } = await withNpm()
  for (const name of names) registry.publish(toolPackage(name))
  const ids: unknown[] = []
  for (const name of names) {
    const { server } = await install(service, { name, create_server: true })
    ids.push(server?.id)
  }
  expect(ids).toEqual(['acme', 'acme-2', 'acme-3'].slice(0, names.length))
})
