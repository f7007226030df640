import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { done, put } from '../../test/support/agents.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { AUTHORISED, type House, openHouse } from '../../test/support/house.ts'
import { definition, get, post, register, until } from '../../test/support/running.ts'
import type { AgentSummary } from './agents.schema.ts'

async function grid(house: House, include: string, headers = {}) {
  const reply = await house.inject({ url: `/api/agents?include=${include}`, headers })
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
  const house = await openHouse({ home })
  await register(house, 'echo', ['--label', 'canary-argument'])
  await register(house, 'noisy')
  for (const id of ['echo', 'noisy']) await post(house, `/api/servers/${id}/start`)

  const before = await grid(house, 'servers,tools')
  expect(before('cursor')).toMatchObject({
    servers: [{ name: 'mine', linked_server_id: 'echo', env: { KEY: '***' }, line: 1 }],
    connected_via: 'direct',
    last_seen_at: null,
  })
  expect(JSON.stringify(before('cursor'))).not.toContain('canary')
  const owner = await grid(house, 'servers', AUTHORISED)
  expect(JSON.stringify(owner('cursor'))).toContain('canary-argument')
  expect(owner('cursor')).not.toHaveProperty('visible')
  expect((await grid(house, 'tools'))('cursor')).not.toHaveProperty('servers')

  const choice = { servers: ['echo'], tools: { echo: ['pid'] } }
  await house.inject({ method: 'PUT', url: '/api/agents/codex/tools', headers: AUTHORISED, payload: choice })
  await done(house, 'POST', '/codex/connect')
  const { key } = (await post(house, '/api/keys', { agent_type: 'codex' })).json()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const params = { protocolVersion: '2025-06-18' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  expect((await fetch(`${house.address}/mcp`, { method: 'POST', headers, body })).status).toBe(200)
  const after = await grid(house, 'servers,tools')
  const { visible, by_server } = await done<never>(house, 'GET', '/codex/tools')
  expect(after('codex')).toMatchObject({
    connected_via: 'gateway',
    last_seen_at: expect.stringMatching(/^\d{4}-/),
    visible: { tools: 1, tokens: (visible as { tokens: number }).tokens, by_server },
    servers: [{ name: 'toolroom' }],
  })
  expect(after('zed')).toMatchObject({ connected_via: null, servers: [] })
  expect((await house.inject('/api/agents?include=secrets')).statusCode).toBe(422)
  expect((await house.inject('/api/agents')).json().items[0]).not.toHaveProperty('visible')
})

test('a file that another program changes is shown as it is at once, and later without being read again', async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', '{"mcpServers": {"a": {"command": "a"}}}')
  const house = await openHouse({ home })
  const names = async () => (await grid(house, 'servers'))('cursor')?.servers?.map(({ name }) => name)
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
  const house = await openHouse({ home })
  await register(house, 'echo')
  await register(house, 'noisy')
  await until(house, 'echo', ({ used_by_agents }) => used_by_agents.join() === 'cursor')
  expect((await get(house, 'noisy')).used_by_agents).toEqual([])
  await done(house, 'PUT', '/gemini-cli/servers', { server_ids: ['noisy'] })
  await done(house, 'POST', '/codex/connect')
  expect((await get(house, 'echo')).used_by_agents).toEqual(['codex', 'cursor'])
  expect((await get(house, 'noisy')).used_by_agents).toEqual(['codex', 'gemini-cli'])
  await house.inject({
    method: 'PUT',
    url: '/api/agents/codex/tools',
    headers: AUTHORISED,
    payload: { servers: ['noisy'] },
  })
  expect((await get(house, 'echo')).used_by_agents).toEqual(['cursor'])
  await done(house, 'POST', '/codex/disconnect')
  expect((await get(house, 'noisy')).used_by_agents).toEqual(['gemini-cli'])
  put(home, '.cursor/mcp.json', '{"mcpServers": {}}')
  await until(house, 'echo', ({ used_by_agents }) => used_by_agents.length === 0)
})
