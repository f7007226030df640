import { describe, expect, onTestFinished, test } from 'vitest'
import { openTcp } from '../../test/fixtures/http/sites.ts'
import { Agent, callsStarted, type Era, META, newKey, textOf, toolsIn } from '../../test/support/gateway.ts'
import { sharedByTests } from '../../test/support/lifetime.ts'
import { get, post, register } from '../../test/support/running-servers.ts'
import { openTestService } from '../../test/support/test-service.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
const MODERN = '2026-07-28'

/** A service with this fixture and an echo server, both running. */
async function setUp(kind: string, args: readonly string[] = [], more: object = {}) {
  const service = await openTestService()
  await register(service, 'echo')
  await register(service, kind, args, more)
  for (const id of ['echo', kind]) await post(service, `/api/servers/${id}/start`)
  return { service, key: await newKey(service) }
}

/** For tests that leave both servers as they were. */
const withLiar = sharedByTests(() => setUp('liar'))

describe('case 47: invalid requests', () => {
  test('GET and DELETE without a session get 405', async () => {
    const { service, key } = await withLiar()
    for (const path of ['/mcp', '/mcp/echo']) {
      for (const method of ['GET', 'DELETE']) {
        for (const version of [{}, { 'mcp-protocol-version': MODERN }]) {
          const headers = { authorization: `Bearer ${key}`, ...version }
          const reply = await fetch(service.address + path, { method, headers })
          expect([reply.status, reply.headers.get('allow')], `${method} ${path}`).toEqual([405, 'POST'])
        }
      }
    }
  })

  const VALID = {
    'mcp-protocol-version': MODERN,
    'mcp-method': 'tools/call',
    'mcp-name': 'echo__echo',
  }
  const without = (name: keyof typeof VALID) => {
    const { [name]: _, ...rest } = VALID
    return rest
  }
  test.each<[string, Record<string, string>]>([
    ['another method', { ...VALID, 'mcp-method': 'tools/list' }],
    ['no method', without('mcp-method')],
    ['another name', { ...VALID, 'mcp-name': 'echo__pid' }],
    ['no name', without('mcp-name')],
    ['another name in Base64', { ...VALID, 'mcp-name': '=?base64?ZWNob19fcGlk?=' }],
    ['a name in another case', { ...VALID, 'mcp-name': 'ECHO__echo' }],
    ['another version', { ...VALID, 'mcp-protocol-version': '2025-11-25' }],
    ['no version', without('mcp-protocol-version')],
  ])('a modern call whose headers have %s is refused, and no server is called', async (_, headers) => {
    const { service, key } = await withLiar()
    const started = await callsStarted(service)
    const send = async (given: Record<string, string>) => {
      const reply = await fetch(`${service.address}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...given },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 0,
          method: 'tools/call',
          params: { name: 'echo__echo', arguments: { text: 'x' }, _meta: META },
        }),
      })
      return { status: reply.status, body: (await reply.json()) as object }
    }
    expect(await send(headers)).toMatchObject({ status: 400, body: { id: 0, error: { code: -32_020 } } })
    expect(await send(VALID)).toMatchObject({ status: 200, body: { id: 0, result: {} } })
    await expect.poll(started).toBe(1)
  })

  test.each(ERAS)('a call of an unknown tool by a %s agent gets -32602', async (era) => {
    const { service, key } = await withLiar()
    const agent = await Agent.open(service, key, era)
    for (const name of ['echo__nothing', 'unknown__echo', 'Echo', 'echo__', '__echo', 'constructor', '']) {
      const { answers } = await agent.call(name)
      expect(answers, name).toMatchObject([{ error: { code: -32_602 } }])
    }
    expect(textOf((await agent.call('echo__echo', { text: 'here' })).answers[0])).toBe('here')
  })
})

describe('case 47: unusual tool schemas', () => {
  test('a schema that refers to a URL is passed on, and Toolroom does not fetch the URL', async () => {
    const connections: unknown[] = []
    const site = await openTcp((socket) => {
      connections.push(socket.remotePort)
      socket.destroy()
    })
    onTestFinished(() => site.close())
    const { service, key } = await setUp('odd-schema', [`--url=${site.origin}/schema.json`])
    for (const era of ERAS) {
      const agent = await Agent.open(service, key, era)
      const listed = await agent.ask('tools/list')
      expect(JSON.stringify(listed.answers[0])).toContain(`"$ref":"${site.origin}/schema.json"`)
      for (const tool of ['ref', 'ref_whole', 'ref_out', 'ref_schema']) {
        const { answers } = await agent.call(`odd-schema__${tool}`, { text: 7 })
        expect(textOf(answers[0]), tool).toBe(tool)
      }
    }
    await service.inject('/api/servers/odd-schema/tools')
    await post(service, '/api/servers/odd-schema/tools/ref/call', { arguments: { text: 7 } })
    expect(connections).toEqual([])
    await fetch(site.origin).catch(() => {})
    expect(connections, 'a request to the site is recorded').toHaveLength(1)
  })

  const withOddSchemas = sharedByTests(() => setUp('odd-schema'))

  test.each(ERAS)(
    'a tool whose schema declares an invalid header is not offered to a %s agent',
    async (era) => {
      const { service, key } = await withOddSchemas()
      const agent = await Agent.open(service, key, era)
      const names = toolsIn((await agent.ask('tools/list')).answers[0])?.filter((name) =>
        name.includes('header'),
      )
      expect(names).toEqual(['odd-schema__header_good'])
      const { answers } = await agent.call('odd-schema__header_space')
      expect(answers).toMatchObject([{ error: { code: -32_602 } }])
    },
  )
})

describe('case 48: faulty servers', () => {
  test.each([
    ['crashes', []],
    ['is killed', ['--signal=SIGKILL']],
    ['exits with code 0', ['--code=0']],
    ['crashes in the middle of its response', ['--half']],
  ])('when a server %s during a call, the call fails at once and not at its timeout', async (_, args) => {
    const { service, key } = await setUp('dies-mid-call', args)
    for (const era of ERAS) {
      const agent = await Agent.open(service, key, era)
      await post(service, '/api/servers/dies-mid-call/start')
      const { answers } = await agent.call('dies-mid-call__die')
      // At its timeout, the code would be call_timeout.
      expect(answers).toMatchObject([{ error: { code: -32_603, data: { code: 'call_failed' } } }])
      expect(textOf((await agent.call('echo__echo', { text: 'alive' })).answers[0])).toBe('alive')
    }
  })

  test.each(ERAS)(
    'a second response of a server to the same request does not reach a %s agent',
    async (era) => {
      const { service, key } = await withLiar()
      const agent = await Agent.open(service, key, era)
      for (let n = 0; n < 3; n += 1) {
        const twice = await agent.call('liar__twice')
        expect(twice.messages).toHaveLength(1)
        expect(textOf(twice.answers[0])).toBe('first')
        expect(textOf((await agent.call('liar__honest')).answers[0])).toBe('the truth')
      }
      expect(agent.received.filter(({ id }) => id !== undefined)).toEqual([])
    },
  )

  const withShortTimeout = sharedByTests(() =>
    setUp('liar', [], { timeouts: { start_s: 60, stop_s: 1, request_s: 1 } }),
  )

  test.each(ERAS)('a response with an unknown id does not reach a %s agent', async (era) => {
    const { service, key } = await withShortTimeout()
    const agent = await Agent.open(service, key, era)
    const wrong = await agent.call('liar__wrong_id')
    expect(wrong.answers).toMatchObject([{ error: { data: { code: 'call_timeout' } } }])
    expect(wrong.messages).toHaveLength(1)
    expect(textOf((await agent.call('liar__honest')).answers[0])).toBe('the truth')
    expect((await get(service, 'liar')).status).toBe('running')
  })

  test('a server that floods notifications is limited, and calls to other servers are answered meanwhile', async () => {
    const COUNT = 20_000
    const { service, key } = await setUp('chatter')
    const listener = await Agent.open(service, key, 'legacy', '/mcp/chatter')
    const agent = await Agent.open(service, key, 'modern')
    const callsUntil = async (isOver: () => boolean): Promise<number> => {
      for (let calls = 0; ; calls += 1) {
        if (isOver()) return calls
        const { answers } = await agent.call('echo__echo', { text: `call ${calls}` })
        expect(textOf(answers[0])).toBe(`call ${calls}`)
      }
    }
    const startedAt = performance.now()
    let isDone = false
    const chatter = listener.call('chatter', { count: COUNT }).finally(() => {
      isDone = true
    })
    const answered = await callsUntil(() => isDone)
    const seconds = (performance.now() - startedAt) / 1000
    const { answers, messages } = await chatter
    expect(textOf(answers[0])).toBe(String(COUNT))
    const received = () => messages.filter(({ method }) => method === 'notifications/message').length
    const dropped = async (): Promise<number[]> => {
      const { items } = (await service.inject('/api/logs?server_id=chatter&source=service&level=warn')).json()
      return items.map(({ data }: { data: { messages: number } }) => data.messages)
    }
    // Dropped notifications are counted and logged once a second.
    const total = async () => (await dropped()).reduce((sum, each) => sum + each, received())
    await expect.poll(total, { timeout: 60_000 }).toBe(COUNT)
    expect(received()).toBeGreaterThan(0)
    expect(received()).toBeLessThanOrEqual(1000 * (seconds + 1) + 1)
    expect((await dropped()).length).toBeLessThanOrEqual(seconds + 3)
    expect(answered).toBeGreaterThan(20)
    expect(textOf((await listener.call('echo', { text: 'again' })).answers[0])).toBe('again')
  })
})
