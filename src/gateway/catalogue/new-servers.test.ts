import { expect, test } from 'vitest'
import { definition, post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import type { AgentToolsView } from './visibility.schema.ts'

test('a new server is on for the agents that follow all servers, or for exactly those that are named; an agent with a choice of its own never gets it unnamed', async () => {
  const service = await openTestService()
  for (const agent_type of ['cursor', 'codex']) await post(service, '/api/keys', { agent_type })
  const choice = async (agent: string) =>
    (await service.inject({ url: `/api/agents/${agent}/tools`, headers: AUTHORISED })).json<AgentToolsView>()
      .servers
  const choices = async () => [await choice('cursor'), await choice('codex')]
  const choose = (agent: string, servers: readonly string[] | null) =>
    service.inject({
      method: 'PUT',
      url: `/api/agents/${agent}/tools`,
      headers: AUTHORISED,
      payload: { servers },
    })
  const add = (name: string, more: object = {}) =>
    post(service, '/api/servers', { ...definition('echo'), name, ...more })

  expect((await add('first')).statusCode).toBe(201)
  await choose('cursor', ['first'])
  await add('unnamed')
  expect(await choices()).toEqual([['first'], null])

  // Nothing is added, and no agent loses a server, if an agent is not known or the name is taken.
  expect((await add('late', { agents: ['no-such-agent'] })).statusCode).toBe(404)
  expect((await add('first', { agents: [] })).statusCode).toBe(409)
  expect(await choices()).toEqual([['first'], null])

  expect((await add('named', { agents: ['cursor'] })).json().used_by_agents).toEqual(['cursor'])
  expect(await choices()).toEqual([
    ['first', 'named'],
    ['first', 'unnamed'],
  ])
  await choose('codex', null)
  await post(service, '/api/servers/import', {
    mcpServers: { pasted: { command: 'node' } },
    agents: 'all',
  })
  expect(await choices()).toEqual([['first', 'named', 'pasted'], null])
  const http = { name: 'remote', url: 'http://127.0.0.1:9/mcp', agents: [] }
  expect((await post(service, '/api/http-servers', http)).json().used_by_agents).toEqual([])
  expect(await choice('codex')).toEqual(expect.not.arrayContaining(['remote']))
  const install = await post(service, '/api/packages/install-npm', { name: 'x', agents: [] })
  expect(install.json().errors).toEqual([{ path: '/agents', message: 'needs create_server' }])
})

async function openWithKeys() {
  const service = await openTestService()
  for (const agent_type of ['cursor', 'codex']) await post(service, '/api/keys', { agent_type })
  const toolsOf = async (agent: string) =>
    (await service.inject({ url: `/api/agents/${agent}/tools`, headers: AUTHORISED })).json<AgentToolsView>()
  const choose = (agent: string, payload: object) =>
    service.inject({ method: 'PUT', url: `/api/agents/${agent}/tools`, headers: AUTHORISED, payload })
  const add = async (name: string, more: object = {}) =>
    (await post(service, '/api/servers', { ...definition('echo'), name, ...more })).statusCode
  const remove = (id: string) =>
    service.inject({ method: 'DELETE', url: `/api/servers/${id}`, headers: AUTHORISED })
  return { toolsOf, choose, add, remove }
}

test('a server with the name of a deleted one is new: it is added for agents that had chosen the other one, and they see it only if they are named', async () => {
  const { toolsOf, choose, add, remove } = await openWithKeys()
  for (const name of ['one', 'two']) await add(name)
  await choose('cursor', { servers: ['one', 'two'], tools: { one: ['read'] } })
  await remove('one')
  expect(await add('three', { agents: ['cursor'] })).toBe(201)
  expect((await toolsOf('cursor')).servers).toEqual(['two', 'three'])
  expect(await add('one', { agents: ['codex'] })).toBe(201)
  expect(await toolsOf('cursor')).toMatchObject({ servers: ['two', 'three'], tools: { one: ['read'] } })
})

test('servers that are added at once, one of them in vain, are seen by exactly the agents that are named, and a choice that is made meanwhile stays', async () => {
  const { toolsOf, choose, add } = await openWithKeys()
  await add('one')
  const agents = ['cursor']
  const statuses = [add('one', { agents }), add('two', { agents }), add('one', { agents })]
  expect(await Promise.all(statuses)).toEqual([409, 201, 409])
  expect((await toolsOf('codex')).servers).toEqual(['one'])
  await choose('cursor', { servers: ['one'] })
  await Promise.all([
    add('three', { agents: 'all' }),
    choose('cursor', { servers: [] }),
    add('four', { agents: 'all' }),
  ])
  expect((await toolsOf('cursor')).servers).not.toContain('one')
  await choose('cursor', { servers: [] })
  await Promise.all(['five', 'six', 'seven'].map((name) => add(name, { agents: 'all' })))
  expect((await toolsOf('cursor')).servers).toHaveLength(3)
})
