import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, put } from '../../test/support/agents.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { definition, get, post, register, until } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'
import type { AgentSummary } from './read/agents.schema.ts'

async function grid(service: TestService, include: string, headers = {}) {
  const reply = await service.inject({ url: `/api/agents?include=${include}`, headers })
  expect(reply.statusCode, reply.body).toBe(200)
  const { items } = reply.json<{ items: AgentSummary[] }>()
  return (type: string) => items.find(({ agent_type }) => agent_type === type)
}

test('the grid of agents and servers is one public read: entries, visible tools, connection and last use of each agent', async () => {
  const home = ownFolder()
  const { command, args } = definition('echo')
  const entry = { command, args: [...args, '--label', 'canary-argument'], env: { KEY: 'canary-env' } }
  put(home, '.cursor/mcp.json', JSON.stringify({ mcpServers: { mine: entry } }))
  put(home, '.codex/config.toml', '')
  const service = await openTestService({ home })
  await register(service, 'echo', ['--label', 'canary-argument'])
  await register(service, 'noisy')
  for (const id of ['echo', 'noisy']) await post(service, `/api/servers/${id}/start`)

  const before = await grid(service, 'servers,tools')
  expect(before('cursor')).toMatchObject({
    servers: [{ name: 'mine', linked_server_id: 'echo', env: { KEY: '***' }, line: 1 }],
    connected_via: 'direct',
    last_seen_at: null,
  })
  expect(JSON.stringify(before('cursor'))).not.toContain('canary')
  const owner = await grid(service, 'servers', AUTHORISED)
  expect(JSON.stringify(owner('cursor'))).toContain('canary-argument')
  expect(owner('cursor')).not.toHaveProperty('visible')
  expect((await grid(service, 'tools'))('cursor')).not.toHaveProperty('servers')

  const choice = { servers: ['echo'], tools: { echo: ['pid'] } }
  await service.inject({
    method: 'PUT',
    url: '/api/agents/codex/tools',
    headers: AUTHORISED,
    payload: choice,
  })
  await done(service, 'POST', '/codex/connect')
  const { key } = (await post(service, '/api/keys', { agent_type: 'codex' })).json()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const params = { protocolVersion: '2025-06-18' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  expect((await fetch(`${service.address}/mcp`, { method: 'POST', headers, body })).status).toBe(200)
  const after = await grid(service, 'servers,tools')
  const { visible, by_server } = await done<never>(service, 'GET', '/codex/tools')
  expect(after('codex')).toMatchObject({
    connected_via: 'gateway',
    last_seen_at: expect.stringMatching(/^\d{4}-/),
    visible: { tools: 1, tokens: (visible as { tokens: number }).tokens, by_server },
    servers: [{ name: 'toolroom' }],
  })
  expect(after('zed')).toMatchObject({ connected_via: null, servers: [] })
  expect((await service.inject('/api/agents?include=secrets')).statusCode).toBe(422)
  expect((await service.inject('/api/agents')).json().items[0]).not.toHaveProperty('visible')
})

test('a file that another program changes is shown as it is at once, and later without being read again', async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', '{"mcpServers": {"a": {"command": "a"}}}')
  const service = await openTestService({ home })
  const names = async () => (await grid(service, 'servers'))('cursor')?.servers?.map(({ name }) => name)
  expect(await names()).toEqual(['a'])
  put(home, '.cursor/mcp.json', '{"mcpServers": {"b": {"command": "b"}}}')
  expect(await names()).toEqual(['b'])
  await sleep(2_100) // from now on the file is known
  expect([await names(), await names()]).toEqual([['b'], ['b']])
  put(home, '.cursor/mcp.json', '{"mcpServers": {"c": {"command": "c"}}}')
  expect(await names()).toEqual(['c'])
})

test('a server names the agents that use it: by their own entries, by ours, and by what they may use at the gateway', async () => {
  const home = ownFolder()
  const { command, args } = definition('echo')
  put(home, '.cursor/mcp.json', JSON.stringify({ mcpServers: { mine: { command, args } } }))
  put(home, '.codex/config.toml', '')
  put(home, '.gemini/settings.json', '{}')
  const service = await openTestService({ home })
  await register(service, 'echo')
  await register(service, 'noisy')
  await until(service, 'echo', ({ used_by_agents }) => used_by_agents.join() === 'cursor')
  expect((await get(service, 'noisy')).used_by_agents).toEqual([])
  await done(service, 'PUT', '/gemini-cli/servers', { server_ids: ['noisy'] })
  await done(service, 'POST', '/codex/connect')
  expect((await get(service, 'echo')).used_by_agents).toEqual(['codex', 'cursor'])
  expect((await get(service, 'noisy')).used_by_agents).toEqual(['codex', 'gemini-cli'])
  await service.inject({
    method: 'PUT',
    url: '/api/agents/codex/tools',
    headers: AUTHORISED,
    payload: { servers: ['noisy'] },
  })
  expect((await get(service, 'echo')).used_by_agents).toEqual(['cursor'])
  await done(service, 'POST', '/codex/disconnect')
  expect((await get(service, 'noisy')).used_by_agents).toEqual(['gemini-cli'])
  put(home, '.cursor/mcp.json', '{"mcpServers": {}}')
  await until(service, 'echo', ({ used_by_agents }) => used_by_agents.length === 0)
})

test('an entry says where it differs from the registered server: of the same definition, or of the same name', async () => {
  const home = ownFolder()
  const { command, args } = definition('echo')
  const entries = {
    same: { command, args },
    echo: { command, args, env: { KEY: 'canary-env' } },
    noisy: { command: 'other' },
  }
  put(home, '.cursor/mcp.json', JSON.stringify({ mcpServers: entries }))
  const service = await openTestService({ home })
  await register(service, 'echo')
  await register(service, 'noisy')
  const differs = async () =>
    (await grid(service, 'servers'))('cursor')?.servers?.map(({ name, differs }) => [name, differs])
  const { length } = definition('noisy').args
  const words = Array.from({ length }, (_, index) => `argument ${index + 1}`)
  expect(await differs()).toEqual([
    ['same', []],
    ['echo', ['env KEY']],
    ['noisy', ['command', ...words]],
  ])

  const taken = { agents: ['cursor'], names: ['echo', 'noisy'], update: true }
  const outcomes = async (payload: object) =>
    (await post(service, '/api/agents/import', payload))
      .json<{ items: { name: string; outcome: string }[] }>()
      .items.map(({ name, outcome }) => [name, outcome])
  const updated = [
    ['echo', 'updated'],
    ['noisy', 'updated'],
  ]
  expect(await outcomes({ ...taken, dry_run: true })).toEqual(updated)
  expect(await differs()).toContainEqual(['echo', ['env KEY']])
  expect(await outcomes(taken)).toEqual(updated)
  expect(await differs()).toEqual([
    ['same', ['env KEY']],
    ['echo', []],
    ['noisy', []],
  ])
  expect(await outcomes(taken)).toContainEqual(['echo', 'registered'])
})

test('one change adds, enables and removes entries, with one diff and one backup', async () => {
  const home = ownFolder()
  const text =
    '{\n  "mcpServers": {\n    // kept\n    "old": { "command": "old" },\n    "mine": { "command": "mine" }\n  }\n}\n'
  const path = put(home, '.gemini/settings.json', text)
  const service = await openTestService({ home })
  await register(service, 'echo')
  const payload = { server_ids: ['echo'], enable: true, remove: ['old'] }
  const report = await done<{ added: string[]; removed: string[]; diff: string; backup_id: string }>(
    service,
    'PUT',
    '/gemini-cli/servers',
    payload,
  )
  expect(report).toMatchObject({ added: ['echo'], removed: ['old'], backup_id: expect.any(String) })
  expect(report.diff).toContain('-    "old"')
  const after = readFileSync(path, 'utf8')
  expect(after).toContain('"echo"')
  expect(after).toContain('// kept')
  expect(after).toContain('"mine": { "command": "mine" }')
  expect(after).not.toContain('"old"')
  expect(await done<object>(service, 'GET', '/gemini-cli/history')).toMatchObject({ total: 1 })
  await done(service, 'PUT', '/gemini-cli/servers', { remove: ['mine'] })
  expect(readFileSync(path, 'utf8')).not.toContain('mine')
  const refused = await service.inject({
    method: 'PUT',
    url: '/api/agents/gemini-cli/servers',
    headers: AUTHORISED,
    payload: { via: 'gateway', remove: ['echo'] },
  })
  expect(refused.statusCode).toBe(422)
})

test('an entry leads to the server whose named secret has its value, and to another one when the secrets change', async () => {
  const home = ownFolder()
  put(
    home,
    '.cursor/mcp.json',
    JSON.stringify({ mcpServers: { own: { command: 'x', env: { KEY: 'one' } } } }),
  )
  const service = await openTestService({ home })
  const set = (name: string, value: string) =>
    service.inject({
      method: 'PUT',
      url: `/api/secrets/${name}`,
      headers: AUTHORISED,
      body: { value },
    })
  for (const [id, value] of [
    ['first', 'two'],
    ['second', 'one'],
  ] as const) {
    expect((await set(id, value)).statusCode).toBeLessThan(300)
    await post(service, '/api/servers', { name: id, command: 'x', env: { KEY: `\${secret:${id}}` } })
  }
  const linked = async () => (await grid(service, 'servers'))('cursor')?.servers?.[0]?.linked_server_id
  const users = async () => [
    (await get(service, 'first')).used_by_agents,
    (await get(service, 'second')).used_by_agents,
  ]
  expect(await linked()).toBe('second')
  await expect.poll(users).toEqual([[], ['cursor']])
  await set('first', 'one')
  await set('second', 'two')
  expect(await linked()).toBe('first')
  await expect.poll(users).toEqual([['cursor'], []])
})
