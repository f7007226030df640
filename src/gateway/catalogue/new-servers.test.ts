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

  // Nothing is added, and nobody loses anything, if an agent is not known or the name is taken.
  expect((await add('late', { agents: ['nobody'] })).statusCode).toBe(404)
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
