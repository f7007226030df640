import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { done, put } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

const FILE = '.cursor/mcp.json'

async function opened(content = '{}', isolation = 'sandbox') {
  const home = ownFolder()
  put(home, FILE, content)
  const service = await openTestService({ home })
  const { command, args } = definition('echo')
  const server = { name: 'echo', command, args }
  expect((await add(service, { ...server, isolation })).statusCode).toBe(201)
  return { home, service, server, text: () => readFileSync(join(home, FILE), 'utf8') }
}

async function sent(service: TestService, method: 'PUT' | 'POST' | 'PATCH', url: string, payload: object) {
  return service.inject({ method, url, headers: AUTHORISED, payload })
}

/** As the server, in a file that was there before. */
const OWN = entryOf(definition('echo'))

function entryOf({ command, args }: { command: string; args: readonly string[] }) {
  return { command, args }
}

test('an isolated server is written into no agent file as its bare command: by id, by its entry, or switched on', async () => {
  const { service, server, text } = await opened(JSON.stringify({ mcpServers: { mine: OWN } }))
  const remote = { servers: { remote: { url: 'http://127.0.0.1:9/mcp' } } }
  await done(service, 'PUT', '/cursor/servers', remote) // an entry that was there before does not matter
  const before = text()
  for (const payload of [
    { server_ids: ['echo'] },
    { server_ids: ['echo'], dry_run: true },
    { server_ids: ['echo'], mode: 'replace', enable: true },
    { servers: { echo: entryOf(server) } },
    { servers: { other: { ...entryOf(server), enabled: true } } },
  ]) {
    const reply = await sent(service, 'PUT', '/api/agents/cursor/servers', payload)
    expect([reply.statusCode, reply.json().code], reply.body).toEqual([422, 'server_isolated'])
    expect(reply.json().hint).toContain('toolroom connect cursor')
  }
  expect(text()).toBe(before)
})

test('through the gateway it is written, also with the bridge and with an entry for each server', async () => {
  const { service, text } = await opened()
  for (const payload of [{}, { bridge: true }]) {
    await done(service, 'POST', '/cursor/connect', payload)
    expect(text()).not.toContain('echo.mjs')
  }
  await done(service, 'POST', '/cursor/disconnect')
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'], via: 'gateway' })
  expect(text()).toContain('/mcp/echo')
})

test('a managed entry of a server that is isolated later is not written again when another program has removed it', async () => {
  const { service, text, home } = await opened('{}', 'none')
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'] })
  expect(text()).toContain('echo.mjs')
  const isolated = await sent(service, 'PATCH', '/api/servers/echo', { isolation: 'sandbox' })
  expect(isolated.statusCode, isolated.body).toBe(200)
  put(home, FILE, '{"mcpServers": {}}')
  const again = await sent(service, 'POST', '/api/agents/cursor/drift', { keep: 'toolroom' })
  expect([again.statusCode, again.json().code], again.body).toEqual([422, 'server_isolated'])
})

test("a user's own entry that was taken over comes back with a warning, and so does one that an undo brings back", async () => {
  const { service, text } = await opened(JSON.stringify({ mcpServers: { echo: OWN } }))
  await done(service, 'POST', '/cursor/connect', { take_over: true })
  expect(text()).not.toContain('echo.mjs')
  const undone = await sent(service, 'POST', '/api/agents/cursor/undo', { dry_run: true })
  expect(undone.json().warnings.join(), undone.body).toContain("runs without the isolation of 'echo'")
  const back = await sent(service, 'POST', '/api/agents/cursor/disconnect', {})
  expect(back.json().warnings.join(), back.body).toContain("runs without the isolation of 'echo'")
  expect(text()).toContain('echo.mjs')
})
