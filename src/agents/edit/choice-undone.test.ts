import { describe, expect, test } from 'vitest'
import { agents, done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import type { AgentToolsView } from '../../gateway/catalogue/visibility.schema.ts'
import type { HistoryItem } from '../read/agents.schema.ts'

const FILE = '.cursor/mcp.json'
const { command, args } = definition('echo')
const ECHO = JSON.stringify({ mcpServers: { mine: { command, args }, off: { command: 'off' } } }, null, 2)

async function openWithServers() {
  const home = ownFolder()
  put(home, FILE, ECHO)
  const service = await openTestService({ home })
  for (const kind of ['echo', 'slow', 'crash']) await register(service, kind, [], { start_mode: 'on_demand' })
  const url = '/api/agents/cursor/tools'
  const chosen = async () =>
    (await service.inject({ url, headers: AUTHORISED })).json<AgentToolsView>().servers
  const choose = (servers: readonly string[] | null) => done(service, 'PUT', '/cursor/tools', { servers })
  const connect = (more: object = {}) =>
    done(service, 'POST', '/cursor/connect', { take_over: true, ...more })
  const undo = (backup_id: string | null) => done(service, 'POST', '/cursor/undo', { backup_id })
  const history = async () =>
    (await done<{ items: HistoryItem[] }>(service, 'GET', '/cursor/history')).items.map(
      ({ action, changes }) => [action, changes.map(({ name, what }) => `${what} ${name}`)],
    )
  return { home, service, chosen, choose, connect, undo, history, text: () => textOf(home, FILE) }
}

describe('the choice that an agent had at the gateway', () => {
  test('comes back in every way in which a take-over is undone, and an undo of that connects it with its servers again', async () => {
    const { service, chosen, choose, connect, undo, text } = await openWithServers()
    const ways = {
      undo: async (backup: string | null) => void (await undo(backup)),
      'the newest undo': async () => void (await done(service, 'POST', '/cursor/undo', {})),
      disconnect: async () => void (await done(service, 'POST', '/cursor/disconnect')),
      restore: async () => void (await post(service, '/api/backups/restore', { agent_type: 'cursor' })),
      'removing the entry': async () =>
        void (await done(service, 'PUT', '/cursor/servers', { remove: ['toolroom'] })),
    }
    for (const [at, [way, back]] of Object.entries(ways).entries()) {
      const before = at % 2 === 0 ? ['slow', 'crash'] : null
      await choose(before)
      const { backup_id } = await connect()
      expect([way, await chosen()]).toEqual([way, ['echo']])
      await back(backup_id)
      expect([way, await chosen(), text()]).toEqual([way, before, ECHO])
    }
    await choose(null)
    await connect()
    const { backup_id } = await done(service, 'POST', '/cursor/disconnect')
    expect(await chosen()).toBeNull()
    await undo(backup_id)
    expect(await chosen()).toEqual(['echo'])
    await done(service, 'POST', '/cursor/disconnect')
    expect([await chosen(), text()]).toEqual([null, ECHO])
  })

  test('stays as the user has changed it since, and comes back after the agent was connected anew', async () => {
    const { service, chosen, choose, connect, undo } = await openWithServers()
    await choose(['slow'])
    const { backup_id } = await connect()
    await choose(['echo', 'crash'])
    await undo(backup_id)
    expect(await chosen()).toEqual(['echo', 'crash'])

    await choose(['slow'])
    await connect({ keep_names: true })
    await connect()
    expect(await agents(service, 'POST', '/cursor/disconnect', { dry_run: true })).toMatchObject({
      status: 200,
    })
    expect(await chosen()).toEqual(['echo'])
    await done(service, 'POST', '/cursor/disconnect')
    expect(await chosen()).toEqual(['slow'])
  })
})

test('the history says of each entry what happened to it', async () => {
  const { service, connect, undo, history } = await openWithServers()
  const set = (body: object) => done(service, 'PUT', '/cursor/servers', body)
  await set({ server_ids: ['slow'], remove: ['off'] })
  await set({ servers: { slow: { command: 'other' } } })
  await set({ disable: ['mine'] })
  await set({ server_ids: ['echo'], enable: true })
  const { backup_id } = await connect()
  await undo(backup_id)
  await set({ remove: ['slow'] })
  expect((await history()).reverse()).toEqual([
    ['set', ['added slow', 'removed off']],
    ['set', ['changed slow']],
    ['set', ['switched_off mine']],
    ['set', ['switched_on mine']],
    ['set', ['added toolroom', 'taken_over mine', 'taken_over slow']],
    ['undo', ['added mine', 'added slow', 'removed toolroom']],
    ['set', ['removed slow']],
  ])
})
