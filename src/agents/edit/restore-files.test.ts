import { expect, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { BackupItem, RestoreReport } from './edit.schema.ts'

const CURSOR = '.cursor/mcp.json'
const CODEX = '.codex/config.toml'

async function openWithServers() {
  const home = ownFolder()
  const { command, args } = definition('echo')
  const texts = {
    [CURSOR]: `{ "mcpServers": { "mine": ${JSON.stringify({ command, args })}, "b": {"command": "b"} } }`,
    [CODEX]: `# mine\n[mcp_servers.mine]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)} # of mine\n`,
  }
  for (const [path, text] of Object.entries(texts)) put(home, path, text)
  const service = await openTestService({ home })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  return { home, service, texts }
}

async function restore(service: TestService, payload?: object): Promise<RestoreReport> {
  const reply = await post(service, '/api/backups/restore', payload)
  expect(reply.statusCode, reply.body).toBe(200)
  return reply.json()
}

const backups = async (service: TestService) =>
  (await service.inject({ url: '/api/backups', headers: AUTHORISED })).json<{ items: BackupItem[] }>().items

test('restoring takes everything of Toolroom out of all files, and each has every byte from before', async () => {
  const { home, service, texts } = await openWithServers()
  await done(service, 'PUT', '/cursor/servers', {
    servers: { b: { command: 'changed' }, c: { command: 'c' } },
  })
  for (const agent of ['cursor', 'codex'])
    await done(service, 'POST', `/${agent}/connect`, { take_over: true })
  const changed = [textOf(home, CURSOR), textOf(home, CODEX)]

  const dry = await restore(service, { dry_run: true })
  expect(dry.items).toMatchObject([
    {
      agent_type: 'cursor',
      exact: true,
      removed: ['c', 'toolroom'],
      updated: ['b'],
      restored: ['mine'],
      backup_id: null,
    },
    { agent_type: 'codex', exact: true, removed: ['toolroom'], restored: ['mine'], problem: null },
  ])
  expect([textOf(home, CURSOR), textOf(home, CODEX)]).toEqual(changed)

  expect(await restore(service, { agent_type: 'codex' })).toMatchObject({
    total: 1,
    items: [{ exact: true }],
  })
  expect([textOf(home, CURSOR), textOf(home, CODEX)]).toEqual([changed[0], texts[CODEX]])
  expect(await restore(service)).toMatchObject({ total: 1, items: [{ agent_type: 'cursor', exact: true }] })
  expect(textOf(home, CURSOR)).toBe(texts[CURSOR])
  const keys = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json()
  expect([keys.items, await restore(service)]).toEqual([[], { dry_run: false, items: [], total: 0 }])
})

test('after another program wrote to a file, only our entries change, and an unreadable file is reported and left alone', async () => {
  const { home, service } = await openWithServers()
  await done(service, 'PUT', '/cursor/servers', { servers: { b: { command: 'changed' } } })
  for (const agent of ['cursor', 'codex'])
    await done(service, 'POST', `/${agent}/connect`, { take_over: true })
  const now = JSON.parse(textOf(home, CURSOR))
  put(home, CURSOR, JSON.stringify({ mcpServers: { ...now.mcpServers, theirs: { command: 'x' } }, more: 1 }))
  put(home, CODEX, 'not toml')
  const { items } = await restore(service)
  expect(items).toMatchObject([
    {
      agent_type: 'cursor',
      exact: false,
      changed: true,
      restored: ['mine'],
      updated: ['b'],
      removed: ['toolroom'],
    },
    { agent_type: 'codex', exact: false, changed: false, problem: expect.stringContaining('config.toml') },
  ])
  expect(items[0]?.diff).toContain('-')
  const { command, args } = definition('echo')
  expect(JSON.parse(textOf(home, CURSOR))).toEqual({
    mcpServers: { b: { command: 'b' }, theirs: { command: 'x' }, mine: { command, args } },
    more: 1,
  })
  expect(textOf(home, CODEX)).toBe('not toml')
})

test('backups need the token, and the original of a file is listed after any number of changes', async () => {
  const { home, service, texts } = await openWithServers()
  for (let n = 0; n < 23; n += 1)
    await done(service, 'PUT', '/cursor/servers', { servers: { c: { command: `c${n}` } } })
  expect((await service.inject('/api/backups')).statusCode).toBe(401)
  const all = await backups(service)
  expect(all).toHaveLength(21)
  expect(all.filter(({ original }) => original)).toEqual([all.at(-1)])
  expect(all.at(-1)).toMatchObject({ agent_type: 'cursor', action: 'set', bytes: texts[CURSOR].length })
  expect(await restore(service)).toMatchObject({ items: [{ exact: true, removed: ['c'] }] })
  expect(textOf(home, CURSOR)).toBe(texts[CURSOR])
})
