import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bridgeEnv, keyFor, MAIN, openBridge, openWitness } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { byNode } from '../../../test/support/real-servers.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { openService } from '../../../test/support/service-process.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'

async function openWithEcho(home = ownFolder()) {
  const service = await openTestService({ home })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  return { service, env: await bridgeEnv(service) }
}

/** For the tests that neither change its servers nor depend on who else is connected. */
const withEcho = sharedByTests(() => openWithEcho())

/** A client of the SDK for legacy revisions that starts the bridge as its server. */
async function client(env: Record<string, string>, argv: readonly string[] = []) {
  const agent = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: {} } },
  )
  agent.setRequestHandler(CreateMessageRequestSchema, async () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'sampled by the agent' },
  }))
  agent.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'decline' }))
  const changes: string[] = []
  agent.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => void changes.push(method))
  await agent.connect(
    new StdioClientTransport({ command: process.execPath, args: [MAIN, 'connect', ...argv], env }),
  )
  onTestFinished(() => agent.close())
  return { agent, changes }
}

const names = async (agent: Client) => (await agent.listTools()).tools.map(({ name }) => name)

describe('legacy agent', () => {
  test('a legacy agent lists and calls the tools of all servers and is notified of new ones', async () => {
    const { service, env } = await openWithEcho()
    const { agent, changes } = await client(env)
    expect(await names(agent)).toContain('echo__echo')
    expect(await agent.callTool({ name: 'echo__echo', arguments: { text: 'grüße' } })).toMatchObject({
      content: [{ type: 'text', text: 'grüße' }],
    })
    await register(service, 'paged')
    await expect.poll(() => changes.length).toBeGreaterThan(0)
  })

  test('a legacy agent receives progress before the result and answers requests of a server', async () => {
    const service = await openTestService()
    await post(service, '/api/servers', { name: 'everything', ...byNode('everything') })
    await post(service, '/api/servers/everything/start')
    const env = await bridgeEnv(service)
    const bridge = openBridge({ env, argv: ['--server', 'everything'] })
    await bridge.greet()
    await bridge.ask(1, 'tools/call', {
      name: 'trigger-long-running-operation',
      arguments: { duration: 1, steps: 3 },
      _meta: { progressToken: 0 },
    })
    const received = bridge
      .lines()
      .filter(({ id, method }) => id === 1 || method === 'notifications/progress')
    expect(received.map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined])
    expect(received[0]?.params).toMatchObject({ progressToken: 0, total: 3 })

    const { agent } = await client(env, ['--server', 'everything'])
    const call = { name: 'trigger-sampling-request', arguments: { prompt: 'say it', maxTokens: 10 } }
    expect(JSON.stringify(await agent.callTool(call))).toContain('sampled by the agent')
  })

  test('a legacy agent may use the id 0, send all messages at once, and close its input immediately', async () => {
    const { env } = await withEcho()
    const bridge = openBridge({ env })
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
    const call = { name: 'echo__echo', arguments: { text: 'zero' }, _meta: { progressToken: 0 } }
    bridge.say({ id: 0, method: 'initialize', params: hello })
    bridge.say({ method: 'notifications/initialized' })
    bridge.say({ id: '0', method: 'tools/call', params: call })
    bridge.child.stdin.end()
    expect(await bridge.ended).toEqual({ code: 0, signal: null })
    expect(bridge.lines()).toMatchObject([
      { id: 0, result: { protocolVersion: '2025-06-18' } },
      { id: '0', result: { content: [{ text: 'zero' }] } },
    ])
    expect(bridge.output.stderr).toBe('')
  })

  test('the cancellation of a legacy agent is forwarded, and it receives no response', async () => {
    const { service, env } = await withEcho()
    const { seen, url } = await openWitness(service.address)
    const bridge = openBridge({ env: { ...env, TOOLROOM_URL: url } })
    await bridge.greet()
    const posts = () => seen.filter(({ method }) => method === 'POST').map(({ status }) => status)
    await expect.poll(posts).toEqual([200, 202])
    bridge.say({ id: 1, method: 'tools/call', params: { name: 'echo__slow', arguments: { ms: 60_000 } } })
    expect(await bridge.ask(2, 'ping')).toMatchObject({ result: {} })
    bridge.say({ method: 'notifications/cancelled', params: { requestId: 1 } })
    // initialize, initialized, the ping, the cancellation, and the call that has ended.
    await expect.poll(() => posts().length).toBe(5)
    bridge.child.stdin.end()
    await bridge.ended
    expect(bridge.lines().map(({ id }) => id)).toEqual(['hello', 2])
  })
})

describe('modern agent', () => {
  test('a modern agent discovers, lists and calls, and header values beyond ASCII are sent in Base64', async () => {
    const { service, env } = await withEcho()
    const { seen, url } = await openWitness(service.address)
    const bridge = openBridge({ env, argv: ['--url', url] })
    const { modern, ask } = bridge
    expect(await ask(0, 'server/discover', modern())).toMatchObject({ result: { resultType: 'complete' } })
    expect(await ask(1, 'tools/list', modern())).toMatchObject({
      result: { tools: expect.arrayContaining([expect.objectContaining({ name: 'echo__echo' })]) },
    })
    const call = { name: 'echo__echo', arguments: { text: 'modern' } }
    expect(await ask(2, 'tools/call', modern(call))).toMatchObject({
      result: { content: [{ text: 'modern' }], resultType: 'complete' },
    })
    const unknown = await ask(3, 'tools/call', modern({ ...call, name: 'écho' }))
    expect(unknown.error).toMatchObject({ code: -32_602 })
    expect(seen.at(-1)?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?w6ljaG8=?=',
    })
    expect(seen.some(({ headers }) => 'mcp-session-id' in headers)).toBe(false)
    expect(await ask(4, 'no/such', modern())).toMatchObject({ error: { code: -32_601 } })
  })

  test('a modern agent is subscribed until it cancels, which closes the connection and is not forwarded', async () => {
    const { service, env } = await openWithEcho()
    const { seen, url } = await openWitness(service.address)
    const bridge = openBridge({ env, argv: ['--url', url] })
    const { modern, say, until, lines } = bridge
    for (const id of ['a', 'b']) {
      say({
        id,
        method: 'subscriptions/listen',
        params: modern({ notifications: { toolsListChanged: true } }),
      })
      await until(({ method, params }) => method?.endsWith('/acknowledged') === true && tagOf(params) === id)
    }
    say({ method: 'notifications/cancelled', params: modern({ requestId: 'a' }) })
    await bridge.ask('c', 'tools/list', modern())
    const before = lines().length // changes during the start may still reach either one
    await register(service, 'paged')
    const notified = () =>
      lines()
        .slice(before)
        .filter(({ method }) => method === 'notifications/tools/list_changed')
        .map(({ params }) => tagOf(params))
    await expect.poll(notified).toContain('b')
    expect(notified()).not.toContain('a')
    expect(seen.map(({ headers }) => headers['mcp-method'])).toEqual([
      'subscriptions/listen',
      'subscriptions/listen',
      'tools/list',
    ])
  })
})

const tagOf = (params: object | undefined): unknown =>
  (params as { _meta?: Record<string, unknown> } | undefined)?._meta?.[
    'io.modelcontextprotocol/subscriptionId'
  ]

describe('availability', () => {
  test('Toolroom may start after the bridge and restart on another port; the agent only sees a change notification', async () => {
    const home = ownFolder()
    const first = await openWithEcho(home)
    await first.service.close()
    const bridge = openBridge({ env: first.env })
    bridge.say({ id: 'early', method: 'server/discover', params: bridge.modern() })
    const second = await openTestService({ home })
    await bridge.until(({ id, result }) => id === 'early' && result !== undefined)
    await bridge.greet()
    const listen = bridge.modern({ notifications: { toolsListChanged: true } })
    bridge.say({ id: 'listen', method: 'subscriptions/listen', params: listen })
    await bridge.until(({ method }) => method === 'notifications/subscriptions/acknowledged')
    await second.close()
    const third = await openTestService({ home })
    expect(third.address).not.toBe(second.address)
    expect(await bridge.ask(7, 'tools/list')).toMatchObject({ result: { tools: expect.anything() } })
    const call = { name: 'echo__echo', arguments: { text: 'again' } }
    await post(third, '/api/servers/echo/start')
    expect(await bridge.ask(8, 'tools/call', call)).toMatchObject({
      result: { content: [{ text: 'again' }] },
    })
    const changes = () => bridge.lines().filter(({ method }) => method?.endsWith('tools/list_changed'))
    await expect.poll(() => changes().map(({ params }) => tagOf(params))).toContain('listen')
    expect(changes().some(({ params }) => params === undefined)).toBe(true)
    expect(bridge.lines().filter(({ method }) => method?.endsWith('/acknowledged'))).toHaveLength(1)
    expect(bridge.lines().filter(({ error }) => error)).toEqual([])
  })

  test('when Toolroom is killed, a pending call fails and is not repeated, and other requests are answered later', async () => {
    const first = await openService()
    await first.add(definition('echo'))
    await first.start('echo')
    const { key } = (await first.ask('POST', '/keys', { agent_type: 'claude-desktop' })).body
    const bridge = openBridge({ env: { HOME: first.home, TOOLROOM_KEY: key } })
    await bridge.greet()
    bridge.say({
      id: 'call',
      method: 'tools/call',
      params: { name: 'echo__slow', arguments: { ms: 60_000 } },
    })
    await bridge.ask('ping', 'ping')
    first.child.kill('SIGKILL')
    const { error } = await bridge.until(({ id }) => id === 'call')
    expect(error).toMatchObject({
      code: -31_503,
      message: expect.stringContaining('may or may not have been executed'),
    })
    bridge.say({ id: 'list', method: 'tools/list' })
    await first.ended
    await openService({ home: first.home })
    const list = await bridge.until(({ id }) => id === 'list')
    expect(list).toMatchObject({ result: { tools: expect.any(Array) } })
  })

  test('after the key is deleted, every request fails without a retry, and stderr has one line', async () => {
    const service = await openTestService()
    const made = await keyFor(service)
    const { seen, url } = await openWitness(service.address)
    const bridge = openBridge({ env: { TOOLROOM_KEY: made.key, TOOLROOM_URL: url } })
    await bridge.greet()
    await expect.poll(() => seen.filter(({ method }) => method === 'GET').length).toBe(1)
    await service.inject({ method: 'DELETE', url: `/api/keys/${made.id}`, headers: AUTHORISED })
    await expect.poll(() => bridge.output.stderr).toContain('TOOLROOM_KEY')
    const refused = seen.length
    expect(await bridge.ask(1, 'tools/list')).toMatchObject({
      error: {
        code: -31_401,
        message: expect.stringContaining(
          'Connect this agent again with toolroom agents connect, and restart it',
        ),
      },
    })
    expect(await bridge.ask(2, 'tools/list')).toMatchObject({ error: { code: -31_401 } })
    expect(seen).toHaveLength(refused + 2)
    expect(bridge.output.stderr.trim().split('\n')).toHaveLength(1)
    bridge.child.stdin.end()
    expect(await bridge.ended).toEqual({ code: 0, signal: null })
  })
})

describe('end', () => {
  test.each(['input', 'SIGTERM', 'SIGINT'] as const)(
    'the end by %s leaves no process and no session',
    async (how) => {
      const { service, env } = await withEcho()
      const { seen, url } = await openWitness(service.address)
      const bridge = openBridge({ env: { ...env, TOOLROOM_URL: url } })
      await bridge.greet()
      await expect.poll(() => seen.some(({ method }) => method === 'GET')).toBe(true)
      if (how === 'input') bridge.child.stdin.end()
      else bridge.child.kill(how)
      expect(await bridge.ended).toEqual({ code: 0, signal: null })
      const last = seen.find(({ method }) => method === 'DELETE')
      expect(last?.status).toBe(204)
      const again = await fetch(`${service.address}/mcp`, {
        method: 'DELETE',
        headers: {
          authorization: `Bearer ${env.TOOLROOM_KEY}`,
          'mcp-session-id': String(last?.headers['mcp-session-id']),
        },
      })
      expect(again.status).toBe(404)
    },
  )

  test('a bridge ends when its agent is killed', async () => {
    const { env } = await withEcho()
    const agent = spawn(process.execPath, ['-e', AGENT, MAIN], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void agent.kill('SIGKILL'))
    const [output] = await once(agent.stdout, 'data')
    const pid = Number(String(output))
    expect(isAlive(pid)).toBe(true)
    agent.kill('SIGKILL')
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

/** Starts a bridge, initializes it, and prints its process id after the response. */
const AGENT = `
const child = require('node:child_process').spawn(process.execPath, [process.argv[1], 'connect'], { stdio: ['pipe', 'pipe', 'ignore'] })
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }) + '\\n')
child.stdout.once('data', () => process.stdout.write(String(child.pid)))
`

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('invalid lines', () => {
  test('an invalid line is answered without an id, and an empty line is ignored', async () => {
    const bridge = openBridge({ env: { TOOLROOM_KEY: 'tk_x', TOOLROOM_URL: 'http://127.0.0.1:9' } })
    bridge.write('')
    bridge.write('hello')
    bridge.write('[]')
    bridge.write(`"${'x'.repeat(10 * 1024 * 1024)}"`)
    await expect.poll(() => bridge.lines().length).toBe(3)
    expect(bridge.lines()).toMatchObject([
      { id: null, error: { code: -32_700 } },
      { id: null, error: { code: -32_600 } },
      { id: null, error: { code: -32_600, message: 'The line is longer than 10 MiB' } },
    ])
  })
})

test.each([
  [{}, [], 'TOOLROOM_KEY must contain a gateway key; `toolroom agents connect`'],
  [{ TOOLROOM_KEY: 'k' }, ['--url', 'ftp://x'], '--url must be an http or https URL'],
  [{ TOOLROOM_KEY: 'k', TOOLROOM_URL: 'x' }, [], 'TOOLROOM_URL must be an http or https URL'],
  [{ TOOLROOM_KEY: 'k' }, ['--sever', 'x'], "Unknown flag '--sever'; see toolroom connect --help"],
  [
    { TOOLROOM_KEY: 'k' },
    ['cursor'],
    "Unexpected argument 'cursor'; to connect an agent, run: toolroom agents connect cursor",
  ],
  [{ TOOLROOM_KEY: 'k' }, ['--server'], '--server needs a value'],
])('connect with the environment %j and the flags %j exits 78 with one line', async (env, argv, sentence) => {
  const bridge = openBridge({ env, argv })
  expect(await bridge.ended).toEqual({ code: 78, signal: null })
  expect(bridge.output.stdout).toBe('')
  expect(bridge.output.stderr).toMatch(/^toolroom: [^\n]+\n$/)
  expect(bridge.output.stderr).toContain(sentence)
})
