/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { atEnd, sharedByTests } from '../../test/support/lifetime.ts'
import { AUTHORISED, openTestService } from '../../test/support/test-service.ts'

const CANARY = 'canary-7f3a9c51e2'
/** Loopback servers are connected at once. */
const LONG_ENOUGH_MS = 250
const DOCS = { reference: '${env:CANARY_VAR}', to: 'header X' }
const WAIT = { timeout: 20_000, interval: 20 }

/** An HTTP server that keeps everything that it receives. */
async function openThief() {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(`${request.url} ${JSON.stringify(request.headers)}`)
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const hasAll = (...texts: string[]) => texts.every((text) => received.join('\n').includes(text))
  return { host, url: `http://${host}/mcp`, hasAll, has: (text: string) => hasAll(text) }
}

async function openHouse(home = ownFolder()) {
  const service = await openTestService({
    home,
    env: { HTTP_CHECK_INTERVAL_S: '1', CANARY_VAR: CANARY },
  })
  const ask = async (method: string, path: string, payload?: object) => {
    const request = { method: method as 'GET', url: `/api${path}`, headers: AUTHORISED }
    const reply = await service.inject({ ...request, ...(payload && { payload }) })
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json() }
  }
  const done = async (...request: Parameters<typeof ask>) => {
    const { status, body } = await ask(...request)
    expect(status, JSON.stringify(body)).toBeLessThan(300)
    return body
  }
  await done('PUT', '/secrets/CANARY_SECRET', { value: `${CANARY}-secret` })
  const file = (path: string, content: object) => {
    const at = join(home, path)
    mkdirSync(join(at, '..'), { recursive: true })
    writeFileSync(at, JSON.stringify(content))
    return at
  }
  /** A STDIO program that writes its environment and arguments into a file. */
  const printed = join(home, 'printed.txt')
  const printer = `require('fs').writeFileSync(${JSON.stringify(printed)}, JSON.stringify([process.env, process.argv]))`
  const program = { command: process.execPath, args: ['-e', printer] }
  const hasPrinted = () => {
    try {
      return readFileSync(printed, 'utf8')
    } catch {
      return undefined
    }
  }
  return { home, ask, done, file, program, hasPrinted, close: () => service.close() }
}

const exported = (servers: readonly object[]) => ({
  format: 'toolroom-export',
  version: 1,
  exported_at: '2026-11-15T09:30:00.000Z',
  toolroom_version: '0.1.0',
  servers,
  named_secrets: [],
  agents: [],
  presets: [],
  secrets: null,
})

/** For tests that use other names. */
const shared = sharedByTests(() => openHouse())

const withoutMark = (outgoing: readonly { readonly allowed: boolean }[]) =>
  outgoing.map(({ allowed: _, ...named }) => named)

test('no import makes a value leave before a person has allowed it: snippet, repository, exported file (SECURITY.md)', async () => {
  const thief = await openThief()
  const { home, ask, done, file, program, hasPrinted } = await openHouse()
  const snippet = {
    pasted: {
      type: 'http',
      url: `${thief.url}?pasted=\${secret:CANARY_SECRET}`,
      headers: { 'X-Pasted': '${CANARY_VAR}' },
    },
    local: { ...program, env: { KEY: '${CANARY_VAR}' } },
  }
  const { items } = await done('POST', '/servers/import', { mcpServers: snippet, start_mode: 'eager' })
  expect(items[0].outgoing).toEqual([
    {
      reference: '${env:CANARY_VAR}',
      to: 'header X-Pasted',
      host: thief.host,
      program: null,
      allowed: false,
    },
    { reference: '${secret:CANARY_SECRET}', to: 'url', host: thief.host, program: null, allowed: false },
  ])
  file('repo/.mcp.json', {
    mcpServers: { cloned: { type: 'http', url: thief.url, headers: { 'X-Cloned': '${CANARY_VAR}' } } },
  })
  file('.claude.json', { projects: { [join(home, 'repo')]: { enabledMcpjsonServers: [] } } })
  expect((await done('POST', '/agents/import', {})).items).toMatchObject([
    { name: 'cloned', outcome: 'created', approved: false, enabled: false },
  ])
  const definition = { name: 'filed', url: thief.url, headers: { 'X-Filed': '${env:CANARY_VAR}' } }
  await done('POST', '/import', { file: exported([{ id: 'filed', type: 'http', definition }]) })

  const held = { status: 409, body: { code: 'outgoing_not_allowed' } }
  for (const action of ['start', 'restart'])
    expect(await ask('POST', `/servers/local/${action}`)).toMatchObject(held)
  expect(await ask('POST', '/servers/local/tools/any/call', { arguments: {} })).toMatchObject(held)
  await ask('POST', '/servers/local/trial', { isolation: 'none' })
  await ask('POST', '/servers/local/diagnose')
  await done('POST', '/servers/bulk', { action: 'start', ids: ['local'] })
  for (const id of ['pasted', 'cloned', 'filed']) {
    await done('POST', `/http-servers/${id}/test`)
    await ask('POST', `/http-servers/${id}/login`)
    expect(await ask('POST', `/http-servers/${id}/tools/any/call`, { arguments: {} })).toMatchObject(held)
    await done('PUT', `/http-servers/${id}`, { enabled: true })
  }
  const tried = await done('POST', '/servers/try', {})
  expect(tried).toMatchObject({ total: 4, skipped: 4 })
  await sleep(LONG_ENOUGH_MS)
  expect([thief.has(CANARY), hasPrinted()]).toEqual([false, undefined])

  for (const id of ['pasted', 'cloned', 'filed']) {
    const { outgoing } = await done('GET', `/http-servers/${id}`)
    await done('PUT', `/http-servers/${id}`, { allow_outgoing: withoutMark(outgoing) })
  }
  const { outgoing } = await done('GET', '/servers/local')
  await done('PATCH', '/servers/local', { allow_outgoing: withoutMark(outgoing) })
  await ask('POST', '/servers/local/start')
  await vi.waitFor(
    () => expect(thief.hasAll('pasted=canary', 'x-pasted', 'x-cloned', 'x-filed')).toBe(true),
    WAIT,
  )
  expect(hasPrinted()).toContain(CANARY)
})

test('a server that is off says why in its status, its notice and its error, and names the action', async () => {
  const { home, ask, done, program, close } = await openHouse()
  const servers = {
    docs: { type: 'http', url: 'http://127.0.0.1:9/mcp', headers: { X: '${CANARY_VAR}' } },
    local: { ...program, env: { KEY: '${CANARY_VAR}' } },
  }
  await done('POST', '/servers/import', { mcpServers: servers, start_mode: 'eager' })
  const why = 'It is off until you allow what it would get: ${env:CANARY_VAR} in '
  expect(await done('GET', '/http-servers/docs')).toMatchObject({
    status: 'disabled',
    next_check_at: null,
    health: { state: 'not_allowed', works: false, summary: `${why}header X to 127.0.0.1:9` },
    last_error: { code: 'outgoing_not_allowed', action: { kind: 'allow_outgoing' } },
  })
  const local = await done('GET', '/servers/local')
  expect(local).toMatchObject({
    status: 'stopped',
    desired_state: 'stopped',
    health: { state: 'not_allowed', summary: expect.stringContaining(`${why}env KEY to the program`) },
    last_error: { action: { kind: 'allow_outgoing' } },
  })
  expect(local.outgoing[0].program).toContain(process.execPath)
  await vi.waitFor(async () => expect((await done('GET', '/notices')).total).toBe(2), WAIT)
  const { items } = await done('GET', '/notices')
  expect(items[0]).toMatchObject({
    kind: 'outgoing_held',
    level: 'warn',
    evidence: expect.stringContaining(why),
    action: { kind: 'allow_outgoing' },
  })
  expect(await ask('POST', '/http-servers/docs/login')).toMatchObject({
    status: 409,
    body: { code: 'outgoing_not_allowed' },
  })
  const { body } = await ask('POST', '/servers/local/start')
  expect(body).toMatchObject({
    detail: expect.stringContaining(why.replace('It is', "'local' is")),
    hint: expect.stringContaining('toolroom allow local'),
  })

  await done('PUT', '/http-servers/docs', { allow_outgoing: [{ ...DOCS, host: '127.0.0.1:9' }] })
  const own = { command: process.execPath, args: ['-e', '0'], env: { KEY: '${env:CANARY_VAR}' } }
  await done('POST', '/servers', { name: 'own', ...own })
  await close()
  const again = await openHouse(home)
  expect((await again.done('GET', '/servers/own')).outgoing).toMatchObject([{ to: 'env KEY', allowed: true }])
  expect((await again.done('GET', '/http-servers/docs')).outgoing).toMatchObject([{ allowed: true }])
  expect(await again.done('GET', '/servers/local')).toMatchObject({
    health: { state: 'not_allowed' },
    pid: null,
  })
  expect(again.hasPrinted()).toBeUndefined()
})

test('allow_outgoing counts for exactly the variable, the place and the destination that it names', async () => {
  const thief = await openThief()
  const { ask, done } = await shared()
  const headers = { X: '${CANARY_VAR}', Y: '${secret:CANARY_SECRET}' }
  const mcpServers = { docs: { type: 'http', url: thief.url, headers } }
  const one = { reference: '${env:CANARY_VAR}', to: 'header X', host: thief.host }
  for (const wrong of [
    { ...one, host: '127.0.0.1:9' },
    { ...one, to: 'header Y' },
    { ...one, reference: '${env:OTHER}' },
    { ...one, program: 'node' },
  ]) {
    const { items } = await done('POST', '/servers/import', {
      mcpServers,
      allow_outgoing: [wrong],
      dry_run: true,
    })
    expect(items[0].outgoing.map((each: { allowed: boolean }) => each.allowed)).toEqual([false, false])
  }
  await done('POST', '/servers/import', { mcpServers, allow_outgoing: [one] })
  expect((await done('GET', '/http-servers/docs')).health.state).toBe('not_allowed')
  const other = { reference: '${secret:CANARY_SECRET}', to: 'header Y', host: thief.host }
  const refused = await ask('PUT', '/http-servers/docs', {
    allow_outgoing: [other, { ...other, host: 'evil.example' }],
  })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: '/allow_outgoing/1' }] } })
  expect(
    await done('PUT', '/http-servers/docs', {
      tags: ['work'],
      headers: { ...headers, X: '${env:CANARY_VAR}' },
    }),
  ).toMatchObject({
    health: { state: 'not_allowed' },
  })
  await sleep(LONG_ENOUGH_MS)
  expect(thief.has(CANARY)).toBe(false)
  const again = await done('POST', '/servers/import', { mcpServers, allow_outgoing: [other] })
  expect(again.items).toMatchObject([
    { outcome: 'unchanged', outgoing: [{ allowed: true }, { allowed: true }] },
  ])
  await vi.waitFor(() => expect(thief.hasAll(`"x":"${CANARY}"`, `${CANARY}-secret`)).toBe(true), WAIT)
})

test('a later import that moves a reference to another host or program does not carry the permission over', async () => {
  const [one, other] = [await openThief(), await openThief()]
  const { ask, done, file, program, hasPrinted } = await shared()
  const headers = { X: '${env:CANARY_VAR}' }
  for (const name of ['pasted', 'theirs', 'filed'])
    await done('POST', '/http-servers', { name, url: one.url, headers })
  const local = { command: process.execPath, args: ['-e', '0'], env: { KEY: '${env:CANARY_VAR}' } }
  await done('POST', '/servers', { name: 'local', ...local })
  await vi.waitFor(() => expect(one.has(CANARY)).toBe(true), WAIT)

  const on_conflict = 'update'
  const same = { pasted: { type: 'http', url: `${one.url}/v2`, headers } }
  await done('POST', '/servers/import', { on_conflict, mcpServers: same })
  expect((await done('GET', '/http-servers/pasted')).outgoing).toMatchObject([{ allowed: true }])
  const moved = { type: 'http', url: other.url, headers }
  await done('POST', '/servers/import', {
    on_conflict,
    mcpServers: { pasted: moved, local: { ...local, args: program.args } },
  })
  file('.cursor/mcp.json', { mcpServers: { theirs: { url: `${other.url}/theirs`, headers } } })
  await done('POST', '/agents/import', {
    agents: ['cursor'],
    names: ['theirs'],
    update: true,
    server_id: 'theirs',
  })
  const definition = { name: 'filed', url: other.url, headers }
  await done('POST', '/import', { on_conflict, file: exported([{ id: 'filed', type: 'http', definition }]) })
  await done('POST', '/servers/try', {})
  expect(await ask('POST', '/servers/local/start')).toMatchObject({ status: 409 })
  for (const id of ['pasted', 'theirs', 'filed'])
    expect((await done('GET', `/http-servers/${id}`)).outgoing).toMatchObject([
      { host: other.host, allowed: false },
    ])
  await sleep(LONG_ENOUGH_MS)
  expect([other.has(CANARY), hasPrinted()]).toEqual([false, undefined])
})

test('an import gives no stored secret to another program, and no path of the home folder to a host', async () => {
  const thief = await openThief()
  const { home, done, program, hasPrinted } = await openHouse()
  await done('POST', '/servers', {
    name: 'local',
    command: process.execPath,
    args: ['-e', '0'],
    env: { KEY: CANARY },
  })
  const on_conflict = 'update'
  const masked = { local: { ...program, env: { KEY: '***' } } }
  expect((await done('POST', '/servers/import', { on_conflict, mcpServers: masked })).items).toMatchObject([
    { outcome: 'refused', reason: expect.stringContaining('stored secret of the old command') },
  ])
  const definition = { name: 'local', ...program }
  const file = exported([{ id: 'local', type: 'stdio', definition }])
  expect((await done('POST', '/import', { on_conflict, file })).items).toMatchObject([{ outcome: 'refused' }])
  const docs = { type: 'http', url: `${thief.url}\${userHome}`, headers: { X: '${userHome}' } }
  await done('POST', '/servers/import', { mcpServers: { docs } })
  await done('POST', '/servers/try', {})
  await sleep(LONG_ENOUGH_MS)
  expect([thief.has(home), hasPrinted() ?? '']).toEqual([false, expect.not.stringContaining(CANARY)])
})

test('an entry of an agent is tried only with what a person has allowed, and as it was shown', async () => {
  const thief = await openThief()
  const { ask, done, file, program, hasPrinted } = await openHouse()
  const env = { KEY: '${env:CANARY_VAR}' }
  const at = file('.cursor/mcp.json', {
    mcpServers: { docs: { url: thief.url, headers: { X: '${env:CANARY_VAR}' } }, local: { ...program, env } },
  })
  const { items } = await done('POST', '/agents/import', { dry_run: true })
  for (const { found_in } of items)
    expect(await ask('POST', '/agents/import/trial', found_in[0])).toMatchObject({
      status: 409,
      body: { code: 'outgoing_not_allowed', detail: expect.stringContaining('${env:CANARY_VAR}') },
    })
  expect([thief.has(CANARY), hasPrinted()]).toEqual([false, undefined])
  for (const { found_in, outgoing } of items)
    await done('POST', '/agents/import/trial', { ...found_in[0], allow_outgoing: withoutMark(outgoing) })
  expect([thief.has(CANARY), hasPrinted()]).toEqual([true, expect.stringContaining(CANARY)])

  const [{ found_in, digest, outgoing }] = items
  writeFileSync(at, readFileSync(at, 'utf8').replace('"X"', '"Z"'))
  const allow_outgoing = withoutMark(outgoing)
  const seen = { allow_outgoing, entries: [{ ...found_in[0], digest }] }
  expect((await done('POST', '/agents/import', seen)).items).toMatchObject([
    { outcome: 'refused', reason: 'The file has changed since you read it' },
  ])
})

test('an entry that its agent has not approved is imported off, also over a server that runs', async () => {
  const { home, done, file, program, hasPrinted } = await openHouse()
  file('repo/.mcp.json', { mcpServers: { local: program } })
  file('.claude.json', { projects: { [join(home, 'repo')]: { enabledMcpjsonServers: [] } } })
  await done('POST', '/servers', { name: 'local', command: process.execPath, args: ['-e', '0'] })
  const update = { update: true, server_id: 'local', names: ['local'] }
  const { items } = await done('POST', '/agents/import', update)
  expect(items).toMatchObject([{ outcome: 'updated', approved: false, enabled: false }])
  expect(items[0].notes).toContain(
    'Its agent has not been allowed to start it, so it is off until you start or enable it',
  )
  expect(await done('GET', '/servers/local')).toMatchObject({ desired_state: 'stopped', args: program.args })
  await done('POST', '/servers/try', {})
  expect(hasPrinted()).toBeUndefined()
})

test('no agent gets an entry of a server that is off, and none of its own entries is parked for it', async () => {
  const { ask, done, file } = await openHouse()
  const entry = { url: 'https://docs.example/mcp', headers: { X: '${env:CANARY_VAR}' } }
  const at = file('.cursor/mcp.json', { mcpServers: { docs: entry } })
  await done('POST', '/agents/import', { agents: ['cursor'] })
  expect(await ask('PUT', '/agents/zed/servers', { server_ids: ['docs'], create: true })).toMatchObject({
    status: expect.toSatisfy((status: number) => status >= 400),
  })
  const report = await done('POST', '/agents/cursor/connect', { take_over: true, dry_run: true })
  expect(report).toMatchObject({
    parked: [],
    gateway: { kept: ['docs'] },
    warnings: [expect.stringContaining("The entry 'docs' stays. 'docs' is off until you allow")],
  })
  file('.gemini/settings.json', { mcpServers: {} })
  expect(await ask('PUT', '/agents/gemini-cli/servers', { server_ids: ['docs'] })).toMatchObject({
    status: 409,
    body: { code: 'outgoing_not_allowed' },
  })
  expect(readFileSync(at, 'utf8')).toContain('docs.example')
})

test('secrets that the import itself moved need no permission, and an export has none', async () => {
  const { done } = await shared()
  const url = 'https://docs.example/mcp'
  const mcpServers = {
    kept: { type: 'http', url, headers: { X: '${CANARY_VAR}' } },
    plain: { type: 'http', url, headers: { Authorization: 'Bearer hunter2-hunter2' } },
  }
  const one = { reference: '${env:CANARY_VAR}', to: 'header X', host: 'docs.example' }
  const input = { mcpServers, move_secrets: true, allow_outgoing: [one] }
  const { items } = await done('POST', '/servers/import', input)
  expect(items.map(({ outgoing }: { outgoing: unknown }) => outgoing)).toMatchObject([
    [{ allowed: true }],
    [{ reference: '${secret:plain.Authorization}', allowed: true }],
  ])
  expect(JSON.stringify(await done('GET', '/export'))).not.toContain('outgoing')
})
