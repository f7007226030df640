import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { AgentToolsView } from '../../src/gateway/catalogue/visibility.schema.ts'
import type { AgentImportReport, AgentScan } from '../../src/import/import.schema.ts'
import { NEWCOMER_SERVERS, writeNewcomerHome } from '../fixtures/newcomer-home.ts'
import { agentView, done } from '../support/agents.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { post } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const AGENTS = Object.entries(NEWCOMER_SERVERS)
const changedIn = (files: Readonly<Record<string, string>>) =>
  Object.entries(files).filter(([path, text]) => readFileSync(path, 'utf8') !== text)

test("over REST, a newcomer's agents have the same servers, values and credentials before and after a take-over, and disconnect returns every byte", async () => {
  const home = ownFolder()
  const { files, shop } = writeNewcomerHome(home)
  expect(Object.keys(files)).toHaveLength(9)
  const service = await openTestService({ home })
  const scan = await done<AgentScan>(service, 'GET', '/scan')
  expect(scan).toMatchObject({ entries: 13 })
  expect(scan.agents.find(({ agent_type }) => agent_type === 'claude-code')).toMatchObject({
    entries: 3,
    projects: [{ project: shop, entries: 2 }],
  })
  const names = async (agents: readonly string[]) => {
    const report = await done<AgentImportReport>(service, 'POST', '/import', { dry_run: true, agents })
    return report.items.map(({ name }) => name)
  }
  const types = AGENTS.map(([agent]) => agent)
  expect(await names(types.toReversed())).toEqual(await names(types))
  const { items } = await done<AgentImportReport>(service, 'POST', '/import', { move_secrets: true })
  const nameOf = (agent: string, name: string) =>
    items.find(({ found_in }) =>
      found_in.some((each) => each.agent_type === agent && each.scope === 'user' && each.name === name),
    )?.server_id
  // An entry of the agent's own that is switched off comes back as it was, also where its secret has moved.
  const put = (body: object) => done(service, 'PUT', '/claude-desktop/servers', body)
  await put({ disable: ['github'] })
  expect(changedIn(files)).toHaveLength(1)
  await put({ server_ids: ['github-claude-desktop'], enable: true })
  expect(changedIn(files)).toEqual([])
  await put({ disable: ['github', 'memory'] })
  const restored = await post(service, '/api/backups/restore', { agent_type: 'claude-desktop' })
  expect(restored.json().items).toMatchObject([{ exact: true }])
  expect(changedIn(files)).toEqual([])

  for (const [agent, servers] of AGENTS) {
    const { servers: entries } = await agentView(service, agent)
    for (const [name, id] of Object.entries(servers)) {
      expect([agent, name, nameOf(agent, name)]).toEqual([agent, name, id])
      const entry = entries.find((each) => each.name === name)
      expect([agent, name, entry?.linked_server_id, entry?.differs]).toEqual([agent, name, id, []])
    }
    const report = await done(service, 'POST', `/${agent}/connect`, { take_over: true })
    expect([agent, report.parked]).toEqual([agent, Object.keys(servers)])
    expect(report.gateway).toMatchObject({ gained: [], kept: [] })
    expect(report.gateway?.credentials.after).toEqual(report.gateway?.credentials.before)
    const url = `/api/agents/${agent}/tools`
    const seen = (await service.inject({ url, headers: AUTHORISED })).json<AgentToolsView>()
    expect(seen.by_server.map(({ server_id }) => server_id).sort()).toEqual(Object.values(servers).sort())
  }
  // VS Code asks for its token itself, so its entry stays until Toolroom has the token.
  const remote = { take_over: true, dry_run: true }
  expect(await done(service, 'POST', '/vscode/connect', remote)).toMatchObject({
    parked: [],
    gateway: { kept: ['remote'] },
  })
  const left = (await agentView(service, 'codex')).servers.filter(({ parked }) => !parked)
  expect(left.map(({ name, enabled }) => [name, enabled])).toEqual([
    ['docs', false],
    ['toolroom', true],
  ])
  // The servers of a project stay in it.
  expect(changedIn(files)).toHaveLength(AGENTS.length)
  for (const [agent] of AGENTS) await done(service, 'POST', `/${agent}/disconnect`)
  expect(changedIn(files)).toEqual([])
})

test("on the command line, init imports a newcomer's servers and connects the agents, each with the servers that it had", async () => {
  const home = ownFolder()
  const { files } = writeNewcomerHome(home, `${home}/.config`)
  const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
  onTestFinished(async () => void (await cli('down')))
  const connect = AGENTS.map(([agent]) => agent).join(',')
  const planned = await cli('init', '--dry-run', '--connect', connect)
  expect(planned).toMatchObject({ code: 0 })
  expect(planned.stdout).toContain(
    'warehouse of ~/code/shop  is left out: it is not approved in claude-code.',
  )
  expect(planned.stdout).toContain('docs  is left out: it is off in codex.')
  expect(planned.stdout).toMatch(/Claude Code .* 3 servers, 2 of ~\/code\/shop$/m)
  expect(planned.stdout).toMatch(/Toolroom off +it has no tools\. To start Toolroom at every login:/)
  expect(changedIn(files)).toEqual([])
  const ended = await cli('init', '--yes', '--json', '--connect', connect)
  expect(ended.code, ended.stderr).toBe(0)
  const { connected } = JSON.parse(ended.stdout)
  for (const [agent, servers] of AGENTS) {
    const { gateway } = connected.find((each: { agent_type: string }) => each.agent_type === agent)
    expect([agent, [...gateway.servers].sort(), gateway.gained]).toEqual([
      agent,
      Object.values(servers).sort(),
      [],
    ])
  }
  for (const [agent] of AGENTS) expect((await cli('agents', 'disconnect', agent, '--yes')).code).toBe(0)
  expect(changedIn(files)).toEqual([])
})
