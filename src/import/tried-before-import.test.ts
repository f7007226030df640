import { expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../../test/fixtures/http/sites.ts'
import { tiny } from '../../test/fixtures/http/tiny.ts'
import { done, put } from '../../test/support/agents.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { definition, get, post } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'
import type { HttpServerView } from '../servers/http/http-servers.schema.ts'
import type { AgentImportReport, EntryTrial } from './import.schema.ts'

const TOKEN = 'canary-tried-0123456789'
const entryOf = (kind: string, env = {}) => {
  const { command, args } = definition(kind)
  return { command, args, env }
}
const source = (agent_type: string, name: string) => ({ agent_type, scope: 'user', project: null, name })
const attempt = (service: TestService, agent: string, name: string) =>
  done<EntryTrial>(service, 'POST', '/import/trial', source(agent, name))

test('what was tried before the import counts for the servers that are created from exactly these entries, with its tools: also a failure, a secret that becomes a named one, and a server that was off; nothing else counts', async () => {
  const home = ownFolder()
  const site = await openHttp(tiny)
  onTestFinished(() => site.close())
  const cursor = (changed: string) => {
    const mcpServers = {
      echo: entryOf('echo', { API_TOKEN: TOKEN }),
      crash: entryOf('crash'),
      dozen: entryOf('dozen', { MODE: changed }),
      never: entryOf('slow'),
    }
    put(home, '.cursor/mcp.json', JSON.stringify({ mcpServers }))
  }
  cursor('before')
  put(home, '.codex/config.toml', `[mcp_servers.far]\nurl = "${site.origin}/mcp"\nenabled = false\n`)
  const service = await openTestService({ home })
  const started = Date.now()
  const [one, two, failed, far] = await Promise.all([
    ...['echo', 'dozen', 'crash'].map((name) => attempt(service, 'cursor', name)),
    attempt(service, 'codex', 'far'),
  ])
  expect([one, two, failed, far].map((trial) => trial?.ok)).toEqual([true, true, false, true])
  const ended = Date.now()
  cursor('after')

  const { items } = await done<AgentImportReport>(service, 'POST', '/import', { move_secrets: true })
  expect(items.map(({ outcome }) => outcome)).toEqual(Array(5).fill('created'))
  const echo = await get(service, 'echo')
  expect(echo).toMatchObject({ health: { works: true }, last_try: { ok: true, code: null } })
  expect(echo.env.API_TOKEN).toBe(`\${secret:API_TOKEN}`)
  const at = Date.parse(echo.last_try?.at ?? '')
  expect([at >= started, at <= ended]).toEqual([true, true])
  expect(await get(service, 'crash')).toMatchObject({
    health: { works: false, level: 'unhealthy' },
    last_try: { ok: false, code: failed?.error?.code },
    tool_count: null,
  })
  for (const id of ['dozen', 'never'])
    expect(await get(service, id)).toMatchObject({
      health: { works: null, state: 'not_tried' },
      last_try: null,
      tool_count: null,
    })
  const remote = (await service.inject('/api/http-servers/far')).json<HttpServerView>()
  expect(remote).toMatchObject({ enabled: false, last_try: { ok: true }, tool_count: 1 })

  // The take-over knows its tools without a start.
  const { gateway } = await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })
  const counts = { tools: echo.tool_count, tokens: expect.any(Number) }
  expect(gateway).toMatchObject({ before: counts, after: counts })
  expect(echo.tool_count).toBeGreaterThan(0)

  // Another value of its secret is another definition.
  const secret = { url: '/api/secrets/API_TOKEN', method: 'PUT', headers: AUTHORISED } as const
  expect((await service.inject({ ...secret, payload: { value: 'another-one' } })).statusCode).toBeLessThan(
    300,
  )
  expect(await get(service, 'echo')).toMatchObject({ health: { works: null }, last_try: null })
})

test('a trial that ends after its server was added counts, and one of the same words with another value does not', async () => {
  const service = await openTestService()
  const trial = (value: string) => post(service, '/api/servers/trial', entryOf('echo', { KEY: value }))
  const add = async (name: string, value: string) =>
    expect(
      (await post(service, '/api/servers', { name, ...entryOf('echo', { KEY: value }) })).statusCode,
    ).toBe(201)
  const running = trial('one')
  await add('early', 'one')
  expect((await running).json()).toMatchObject({ ok: true })
  expect(await get(service, 'early')).toMatchObject({ last_try: { ok: true } })
  await add('other', 'two')
  expect(await get(service, 'other')).toMatchObject({ last_try: null, tool_count: null })
})
