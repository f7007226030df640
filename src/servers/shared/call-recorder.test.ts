import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { Agent, newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'

const CALL = ['agent_type', 'call_id', 'request_bytes', 'request_id', 'server_id', 'session_id', 'tool']
const COMPLETED = [
  ...CALL,
  ...['duration_ms', 'error_code', 'queue_ms', 'response_bytes', 'server_ms', 'start_ms', 'status'],
].sort()

test('facts about calls carry neither arguments nor results, whether a call succeeds, fails or is refused', async () => {
  const service = await openTestService()
  await register(service, 'mirror') // returns its request
  await register(service, 'mirror', ['--error'], { name: 'failing' })
  await register(service, 'liar')
  for (const id of ['mirror', 'failing', 'liar']) await post(service, `/api/servers/${id}/start`)
  const frames: { type: string; data: Record<string, unknown> }[] = []
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (text) => frames.push(JSON.parse(String(text))))
  await once(socket, 'open')

  const canary = 'canary-in-an-argument'
  const args = { text: canary, [canary]: [{ deep: canary }] }
  const echoed: string[] = []
  for (const era of ['legacy', 'modern'] as const) {
    const agent = await Agent.open(service, await newKey(service), era)
    for (const tool of ['mirror__mirror', 'failing__mirror', 'liar__null_result', 'liar__bad_error'])
      echoed.push(JSON.stringify((await agent.call(tool, args)).answers))
  }
  for (const path of ['mirror/tools/mirror', 'failing/tools/mirror', 'liar/tools/bad_error'])
    echoed.push((await post(service, `/api/servers/${path}/call`, { arguments: args })).body)
  expect(echoed.filter((text) => text.includes(canary))).toHaveLength(6) // the servers did get them

  const of = (type: string) => frames.filter((frame) => frame.type === type).map(({ data }) => data)
  await expect.poll(() => of('call_completed').length).toBe(echoed.length)
  for (const data of of('call_started')) expect(Object.keys(data).sort()).toEqual(CALL)
  for (const data of of('call_completed')) expect(Object.keys(data).sort()).toEqual(COMPLETED)
  expect(JSON.stringify(frames)).not.toContain(canary)
})

test('a call that reaches no server is published, logged with its reason and counted, through whichever door it came', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { tools: { pid: { enabled: false } } })
  await register(service, 'echo', [], { name: 'private', expose: false })
  await register(service, 'echo', [], {
    name: 'failing',
    command: '/nowhere/at-all',
    start_mode: 'on_demand',
  })
  await post(service, '/api/servers/echo/start')
  await post(service, '/api/servers/private/start')
  const url = `${closedPort}/mcp`
  const site = { name: 'site', url }
  await service.inject({ method: 'POST', url: '/api/http-servers', headers: AUTHORISED, payload: site })
  const off = { name: 'off', url, enabled: false }
  await service.inject({ method: 'POST', url: '/api/http-servers', headers: AUTHORISED, payload: off })
  const key = await newKey(service)
  const searching = await newKey(service, 'searcher')
  const mode = { tool_mode: 'search' }
  await service.inject({
    method: 'PUT',
    url: '/api/agents/searcher/tools',
    headers: AUTHORISED,
    payload: mode,
  })
  const calls = await completedCalls(service)

  const legacy = await Agent.open(service, key, 'legacy')
  const modern = await Agent.open(service, key, 'modern')
  const finder = await Agent.open(service, searching, 'modern')
  const elsewhere = await Agent.open(service, key, 'modern', '/mcp/nothing')
  for (const [agent, tool] of [
    [legacy, 'echo__nothing'],
    [modern, 'nowhere__echo'],
    [modern, 'echo__pid'],
    [modern, 'private__echo'],
    [modern, 'failing__echo'],
    [modern, 'site__echo'],
    [modern, 'off__echo'],
    [elsewhere, 'echo'],
  ] as const)
    expect((await agent.call(tool)).answers[0]?.error, tool).toBeDefined()
  await finder.call('call_tool', { name: 'echo__nothing' })
  await finder.call('find_tools', { query: 7 })
  await fetch(`${service.address}/mcp`, {
    method: 'POST',
    headers: { ...legacy.headers, 'mcp-session-id': 'unknown', 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo"}}',
  })
  for (const path of [
    'servers/echo/tools/nothing',
    'servers/nowhere/tools/echo',
    'servers/failing/tools/echo',
  ])
    await post(service, `/api/${path}/call`, { arguments: {} })

  const expected = [
    ['echo', 'nothing', 'unknown_tool'],
    [null, 'nowhere__echo', 'unknown_tool'],
    ['echo', 'pid', 'tool_disabled'],
    ['private', 'echo', 'tool_hidden'],
    ['failing', 'echo', 'server_start_failed'],
    ['site', 'echo', 'connection_refused'],
    ['off', 'echo', 'server_disabled'],
    ['nothing', 'echo', 'unknown_server'],
    ['echo', 'nothing', 'unknown_tool'],
    [null, 'find_tools', 'invalid_arguments'],
    ['echo', 'echo', 'invalid_request'],
    ['echo', 'nothing', 'unknown_tool'],
    ['nowhere', 'echo', 'unknown_server'],
    ['failing', 'echo', 'server_not_running'],
  ]
  await expect.poll(() => calls.length).toBe(expected.length)
  expect(calls.map(({ server_id, tool, error_code }) => [server_id, tool, error_code])).toEqual(expected)
  // How long a refusal took says nothing about the server, so it is in no latency.
  expect(calls.filter(({ duration_ms }) => duration_ms !== null)).toEqual([])
  const session = legacy.headers['mcp-session-id']
  expect(calls[0]).toMatchObject({ session_id: session, agent_type: 'cursor', status: 'error' })

  const { items } = (await service.inject('/api/logs?search=call failed&order=asc')).json()
  expect(items).toHaveLength(expected.length)
  expect(items[0]).toMatchObject({ server_id: 'echo', tool: 'nothing', source: 'gateway' })
  expect(items[0].message).toBe('call failed: Unknown tool: echo__nothing')
  expect(items.at(-3).message).toBe("call failed: 'echo' has no tool 'nothing'")
  expect(items.at(-3)).toMatchObject({ server_id: 'echo', source: 'service' })

  const { calls: counted, latency_ms } = (await service.inject('/api/metrics/summary?window=5m')).json()
  expect(latency_ms).toEqual({ p50: null, p90: null, p95: null, p99: null, max: null })
  const stored = (await service.inject('/api/calls')).json().items as { duration_ms: number | null }[]
  expect(stored.filter(({ duration_ms }) => duration_ms === null)).toHaveLength(expected.length)
  expect(counted).toMatchObject({ total: expected.length, error: expected.length })
})

test('what a tool says about its error is not in the log, and no frame has it', async () => {
  const service = await openTestService()
  await register(service, 'mirror', ['--error'], { env: { API_TOKEN: 'canary-of-the-server' } })
  await post(service, '/api/servers/mirror/start')
  const calls = await completedCalls(service)
  const arguments_ = { text: 'canary-of-the-server and ghp_0123456789abcdefghijABCDEFGHIJ' }
  await post(service, '/api/servers/mirror/tools/mirror/call', { arguments: arguments_ })
  await expect.poll(() => calls).toHaveLength(1)
  expect(Object.keys(calls[0] ?? {})).not.toContain('error_message')
  const { body } = await service.inject('/api/logs?search=call failed')
  expect(body).toContain('call failed: the tool reported an error')
  expect(body).not.toMatch(/canary|ghp_/)
})

/** A port that was open a moment ago. */
const closedPort = await (async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return `http://127.0.0.1:${port}`
})()

/** The frames `call_completed` from now on. */
async function completedCalls({ address }: TestService): Promise<Record<string, unknown>[]> {
  const calls: Record<string, unknown>[] = []
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(String(text))
    if (type === 'call_completed') calls.push(data)
  })
  await once(socket, 'open')
  return calls
}
