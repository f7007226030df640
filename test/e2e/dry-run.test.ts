import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put } from '../support/agents.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'
import { add } from '../support/with-servers.ts'

const CURSOR = '.cursor/mcp.json'
/** This agent lists its disabled servers in a second file. */
const TWO_FILES = { type: 'gemini-cli', file: '.gemini/settings.json' }

/** Everything that a user can see: registered servers, keys, audit rows, and every file outside of the data folder. */
async function stateOf(service: TestService) {
  const reads = [
    'servers',
    'http-servers',
    'keys',
    'logs?source=audit',
    'agents/cursor/history',
    'agents/cursor/tools',
    'backups',
  ]
  const answers = reads.map(async (path) => {
    const { statusCode, body } = await service.inject({ url: `/api/${path}`, headers: AUTHORISED })
    expect(statusCode, path).toBe(200)
    return [path, body]
  })
  const files = readdirSync(service.home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(service.data))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => [path, `${statSync(path).mtimeMs} ${readFileSync(path, 'utf8')}`])
  return Object.fromEntries([...(await Promise.all(answers)), ...files])
}

async function send(service: TestService, method: 'PUT' | 'POST' | 'DELETE', path: string, payload: object) {
  const reply = await service.inject({ method, url: `/api/${path}`, headers: AUTHORISED, payload })
  expect(reply.statusCode, reply.body).toBeLessThan(300)
  return reply.json()
}

/** A connected agent with entries of its own and of ours, one change that can be undone, and registered servers. */
async function addServers() {
  const home = ownFolder()
  put(home, CURSOR, '{ "mcpServers": { "theirs": { "command": "their-server" } } }\n')
  put(home, TWO_FILES.file, '{ "mcpServers": { "other": { "command": "other-server" } } }\n')
  const service = await openTestService({ home })
  await add(service, { name: 'github', command: 'old-command' })
  await send(service, 'POST', 'http-servers', { name: 'far', url: 'https://far.example/mcp' })
  await send(service, 'PUT', 'presets/work', { servers: ['github'] })
  await send(service, 'POST', 'agents/cursor/connect', {})
  const ours = { ours: { command: 'ours', args: ['1'] } }
  await send(service, 'PUT', 'agents/cursor/servers', { servers: ours })
  return service
}

test.each<[method: 'PUT' | 'POST' | 'DELETE', path: string, body: object]>([
  ['PUT', 'agents/cursor/servers', { servers: { ours: { command: 'ours', args: ['2'] } } }],
  ['PUT', 'agents/cursor/servers', { server_ids: ['github'], via: 'gateway' }],
  ['PUT', 'agents/cursor/servers', { servers: { new: { command: 'x' } }, mode: 'replace' }],
  ['PUT', `agents/${TWO_FILES.type}/servers`, { servers: { off: { command: 'x', enabled: false } } }],
  ['DELETE', 'agents/cursor/servers', { names: ['ours', 'theirs'] }],
  ['POST', 'agents/cursor/http-servers', { server_id: 'far' }],
  ['POST', 'agents/cursor/connect', {}],
  ['POST', 'agents/cursor/connect', { take_over: true }],
  ['POST', 'agents/cursor/disconnect', {}],
  ['POST', 'agents/cursor/apply', { preset: 'work' }],
  ['POST', 'backups/restore', {}],
  ['POST', 'agents/cursor/undo', {}],
  ['POST', 'agents/import', {}],
  ['POST', 'servers/import', { mcpServers: { fresh: { command: 'x' } } }],
  ['POST', 'servers/import', { mcpServers: { github: { command: 'new-command' } }, on_conflict: 'update' }],
])(
  'a dry run of %s /api/%s with %j changes no file, no record, no key and no audit row, and the same request without it does',
  async (method, path, body) => {
    const service = await addServers()
    const before = await stateOf(service)
    expect(await send(service, method, path, { ...body, dry_run: true })).toMatchObject({ dry_run: true })
    expect(await stateOf(service)).toEqual(before)
    await send(service, method, path, body)
    expect(await stateOf(service)).not.toEqual(before)
  },
)
