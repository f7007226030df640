import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { RestoreReport } from '../../src/agents/edit/edit.schema.ts'
import type { AgentSummary } from '../../src/agents/read/agents.schema.ts'
import type { AgentImportReport } from '../../src/import/import.schema.ts'
import { done } from '../support/agents.ts'
import { ownFolder } from '../support/folder.ts'
import { REALISTIC_SECRETS, writeRealisticHome } from '../support/realistic-home.ts'
import { post } from '../support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'

const NINE = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'codex',
  'gemini-cli',
  'windsurf',
  'zed',
  'opencode',
]

async function openWithServers() {
  const home = ownFolder()
  const { files } = writeRealisticHome(home)
  const names = [
    'CONTEXT7_API_KEY',
    'DOCS_KEY',
    'FIGMA_OAUTH_TOKEN',
    'FIGMA_TEAM',
    'GITHUB_TOKEN',
    'JIRA_TOKEN',
    'TAVILY_API_KEY',
    'TENANT',
  ]
  const env = Object.fromEntries(names.map((name) => [name, 'set']))
  const service = await openTestService({ home, env })
  const { items } = await done<AgentImportReport>(service, 'POST', '/import', { dry_run: true })
  // As a person does who has read the list.
  const allow_outgoing = items.flatMap(({ outgoing }) => outgoing.map(({ allowed: _, ...named }) => named))
  await done(service, 'POST', '/import', { allow_outgoing })
  const changed = () => [...files].filter(([path, text]) => readFileSync(path, 'utf8') !== text)
  return { service, files, changed }
}

const LEFT: Readonly<Record<string, readonly string[]>> = {
  vscode: ['github-remote', 'brave', 'toolroom'],
  'devin-desktop': ['jira', 'toolroom'],
}

const keys = async (service: TestService) =>
  (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().items

const gridOf = async (service: TestService) =>
  (await service.inject('/api/agents?include=servers,tools')).json<{ items: AgentSummary[] }>().items

test('nine agents are imported, connected with a take-over and disconnected: no tool is doubled, and every file is byte-identical to the start (docs/agents.md)', async () => {
  const { service, files, changed } = await openWithServers()
  for (const agent of NINE) {
    const before = await done(service, 'POST', `/${agent}/connect`, { dry_run: true })
    const report = await done(service, 'POST', `/${agent}/connect`, { take_over: true })
    expect(
      before.doubled.map(({ name }) => name),
      agent,
    ).toEqual(report.parked)
    expect(report.parked.length, agent).toBeGreaterThan(0)
    expect(report.gateway?.gained, agent).toEqual([])
    expect(report.gateway?.credentials.after, agent).toEqual(report.gateway?.credentials.before)
    for (const secret of Object.values(REALISTIC_SECRETS)) expect(report.diff).not.toContain(secret)
    const again = await done(service, 'POST', `/${agent}/connect`, { dry_run: true })
    expect(again.doubled, agent).toEqual([])
  }
  // Windsurf is edited in the file that it reads, and other files of agents and projects stay.
  const windsurf = [...files.keys()].find((path) => path.includes('windsurf')) ?? ''
  expect(readFileSync(windsurf, 'utf8')).toContain('"toolroom"')
  expect(changed()).toHaveLength(NINE.length)

  const grid = (await gridOf(service)).filter(({ connected_via }) => connected_via === 'gateway')
  expect(grid).toHaveLength(NINE.length)
  for (const { agent_type, visible, servers = [] } of grid) {
    const offered = new Set(visible?.by_server.map(({ server_id }) => server_id))
    const own = servers.filter(({ parked, enabled }) => !parked && enabled !== false)
    expect(
      own.filter(({ linked_server_id: id }) => id !== null && offered.has(id)),
      agent_type,
    ).toEqual([])
    // Every entry was imported. Those stay in the file that have a field without a counterpart, such as envFile or
    // disabledTools, or a variable or a secret that Toolroom does not have.
    const left = own.filter(({ scope }) => scope === 'user').map(({ name }) => name)
    expect([agent_type, left]).toEqual([agent_type, LEFT[agent_type] ?? ['toolroom']])
  }

  for (const agent of NINE) await done(service, 'POST', `/${agent}/disconnect`)
  expect([changed(), await keys(service)]).toEqual([[], []])
})

test('a restore returns nine connected agents to their first bytes, and to the same entries where another program wrote meanwhile', async () => {
  const { service, files, changed } = await openWithServers()
  for (const agent of NINE) await done(service, 'POST', `/${agent}/connect`, { take_over: true })
  const [claude] = [...files.keys()].filter((path) => path.endsWith('.claude.json'))
  if (claude === undefined) expect.unreachable()
  // As Claude Code does at each start: the whole file, with a counter.
  const text = readFileSync(claude, 'utf8')
  writeFileSync(claude, JSON.stringify({ ...JSON.parse(text), numStartups: 215 }, null, 2))
  const { items } = (await post(service, '/api/backups/restore', {})).json<RestoreReport>()
  expect(items.map(({ problem }) => problem)).toEqual(NINE.map(() => null))
  expect(items.filter(({ exact }) => !exact).map(({ agent_type }) => agent_type)).toEqual(['claude-code'])
  expect(changed().map(([path]) => path)).toEqual([claude])
  expect(readFileSync(claude, 'utf8')).toBe(
    files.get(claude)?.replace('"numStartups": 214', '"numStartups": 215'),
  )
  expect(await keys(service)).toEqual([])
})
