import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agents, agentView, done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { HistoryItem } from '../read/agents.schema.ts'
import type { ChangeReport, DriftReport } from './edit.schema.ts'

const FILE = '.cursor/mcp.json'
const START = '{\n  "theirs": 1,\n  "mcpServers": {\n    "own": { "command": "own" }\n  }\n}\n'

/** Toolroom has written `echo` and `notes`, and then another program changed one and removed the other. */
async function openDrifted() {
  const home = ownFolder()
  put(home, FILE, START)
  const service = await openTestService({ home })
  await register(service, 'echo', [], { env: { KEY: 'canary-drift' } })
  const notes = { command: 'notes', env: { A: '1' } }
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'] })
  await done(service, 'PUT', '/cursor/servers', { servers: { notes } })
  const written = textOf(home, FILE)
  const changed = written.replace('canary-drift', 'theirs').replace(/,\s*"notes": \{[\s\S]*?\}\s*\}/, '')
  expect(changed).not.toContain('notes')
  put(home, FILE, changed)
  return { home, service, written, changed, text: () => textOf(home, FILE) }
}
const keep = (service: TestService, version: 'toolroom' | 'file', dry_run = false) =>
  done<DriftReport>(service, 'POST', '/cursor/drift', { keep: version, dry_run })
const drift = async (service: TestService) => (await agentView(service, 'cursor')).drift
const audited = async (service: TestService) =>
  (await service.inject({ url: '/api/events?limit=50', headers: AUTHORISED }))
    .json()
    .items.map(({ text }: { text: string }) => text)

test('toolroom: what Toolroom wrote is written again, also an entry of no server, and one undo brings the other version back', async () => {
  const { service, changed, written, text } = await openDrifted()
  expect(await drift(service)).toHaveLength(2)
  const dry = await keep(service, 'toolroom', true)
  expect(dry).toMatchObject({ keep: 'toolroom', dry_run: true, total: 1 })
  expect(dry.items[0]).toMatchObject({ updated: ['echo'], added: ['notes'], backup_id: null })
  expect(dry.items[0]?.diff).toMatch(/^\+ +"notes"/m)
  expect(JSON.stringify(dry)).not.toContain('canary-drift')
  expect(text()).toBe(changed)

  const [report] = (await keep(service, 'toolroom')).items
  expect(JSON.parse(text())).toEqual(JSON.parse(written))
  expect(await drift(service)).toEqual([])
  expect((await keep(service, 'file')).items).toEqual([])
  await done(service, 'POST', '/cursor/undo', { backup_id: report?.backup_id })
  expect(text()).toBe(changed)
  const { items } = await done<{ items: HistoryItem[] }>(service, 'GET', '/cursor/history')
  expect(items.map(({ action }) => action).slice(0, 2)).toEqual(['undo', 'set'])
})

test('file: the file stays as it is, byte for byte, is no drift any more, and the change is audited', async () => {
  const { service, changed, text } = await openDrifted()
  const accepted = ['echo', 'notes']
  expect((await keep(service, 'file', true)).items).toMatchObject([{ accepted, changed: false }])
  expect(await drift(service)).toHaveLength(2)
  expect((await keep(service, 'file')).items).toMatchObject([{ accepted, changed: false, backup_id: null }])
  expect(text()).toBe(changed)
  const { servers, drift: left } = await agentView(service, 'cursor')
  expect(left).toEqual([])
  expect(servers.filter(({ managed }) => managed).map(({ name }) => name)).toEqual(['echo'])
  expect(await audited(service)).toContainEqual(
    expect.stringMatching(/mcp\.json stays as another program has changed it$/),
  )
})

test('the gateway entry comes back with its key; accepted as removed, the key is deleted and what was parked comes back with a disconnect', async () => {
  const home = ownFolder()
  const { command, args } = definition('echo')
  put(home, FILE, JSON.stringify({ mcpServers: { mine: { command, args } } }))
  const service = await openTestService({ home })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  await done(service, 'POST', '/cursor/connect', { take_over: true })
  const keys = async () => (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().total
  const connected = textOf(home, FILE)
  put(home, FILE, '{ "mcpServers": {} }')
  await keep(service, 'toolroom')
  expect(JSON.parse(textOf(home, FILE))).toEqual(JSON.parse(connected))
  expect([await keys(), await drift(service)]).toEqual([1, []])

  put(home, FILE, '{ "mcpServers": {} }')
  const [report] = (await keep(service, 'file')).items
  expect(report?.warnings).toEqual([expect.stringContaining('Disconnect the agent to get them back')])
  expect([await keys(), textOf(home, FILE)]).toEqual([0, '{ "mcpServers": {} }'])
  await done(service, 'POST', '/cursor/disconnect')
  expect(JSON.parse(textOf(home, FILE)).mcpServers.mine).toEqual({ command, args })
})

test('a file that another program has deleted gets its entries again, and one that cannot be read is left alone', async () => {
  const { home, service, text } = await openDrifted()
  rmSync(join(home, FILE))
  const { items } = await keep(service, 'toolroom')
  expect(items).toMatchObject([{ added: ['echo', 'notes'] }])
  expect(Object.keys(JSON.parse(text()).mcpServers)).toEqual(['echo', 'notes'])
  put(home, FILE, '{ broken')
  expect((await keep(service, 'toolroom')).items).toEqual([])
  expect(text()).toBe('{ broken')
})

test('file: an entry that leads to another program now is not taken over as the server that it was made from', async () => {
  const home = ownFolder()
  const service = await openTestService({ home })
  await register(service, 'echo', [], { start_mode: 'on_demand' })
  await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'], create: true })
  const other = { mcpServers: { echo: { command: '/opt/other', args: [] } } }
  put(home, FILE, JSON.stringify(other))
  await keep(service, 'file')
  const planned = await done<ChangeReport>(service, 'POST', '/cursor/connect', {
    take_over: true,
    dry_run: true,
  })
  expect(planned).toMatchObject({ parked: [], gateway: { servers: [], kept: ['echo'] } })
})

test('an undo of one change can be made only if no other program has changed the file since, and a report names its project', async () => {
  const { home, service, text } = await openDrifted()
  const [{ backup_id, project_path } = {}] = (await keep(service, 'toolroom')).items
  expect(project_path).toBeNull()
  const foreign = text().replace('"theirs": 1', '"theirs": 2')
  put(home, FILE, foreign)
  const undo = (more: object) =>
    post(service, '/api/agents/cursor/undo', { scope: 'user', backup_id, ...more })
  expect((await undo({ if_unchanged: true })).json()).toMatchObject({ code: 'config_changed' })
  expect(text()).toBe(foreign)
  expect((await undo({})).statusCode).toBe(200)
  expect(text()).not.toBe(foreign)
})

test('an edit after the difference was shown is refused for both versions, and nothing is changed', async () => {
  const { service, changed, home, text } = await openDrifted()
  const shown = (await keep(service, 'toolroom', true)).items
  const files = shown.map(({ path, base_revision }) => ({ path, revision: base_revision }))
  const later = changed.replace('"theirs": 1', '"theirs": 2')
  put(home, FILE, later)
  for (const version of ['toolroom', 'file'])
    expect(await agents(service, 'POST', '/cursor/drift', { keep: version, files })).toMatchObject({
      status: 409,
      body: { code: 'config_changed' },
    })
  expect(text()).toBe(later)
  expect(await drift(service)).toHaveLength(2)
  put(home, FILE, changed)
  await done(service, 'POST', '/cursor/drift', { keep: 'file', files })
  expect(await drift(service)).toEqual([])
})
