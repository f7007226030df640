import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { objectText } from '../../../test/support/arbitrary-json.ts'
import { runs } from '../../../test/support/full-or-short.ts'
import { Agent, type Era, META, newKey } from '../../../test/support/gateway.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
/** Each returns the text of every request that it receives. */
const SERVERS = ['stdio', 'stdio-modern', 'http', 'http-modern', 'sse'] as const
type ServerName = (typeof SERVERS)[number]
const LARGE = `"padding":"${'é'.repeat(5000)}",`

/** The text of an object with another member in front. */
const padded = (object: string) => `{${LARGE}${object.trim().slice(1)}`.replace(/,(\s*)\}$/, '$1}')
const onOneLine = (json: string) => json.replaceAll(/[\r\n]/g, '')

async function remote(name: string): Promise<string> {
  const file = fileURLToPath(new URL('../../../test/fixtures/servers/raw.mjs', import.meta.url))
  const [transport = '', era = 'legacy'] = name.split('-')
  const child = spawn(process.execPath, [file, `--name=${name}`, `--transport=${transport}`, `--era=${era}`])
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  return `http://127.0.0.1:${String(port).trim()}/mcp`
}

async function setUp(names: readonly ServerName[] = SERVERS) {
  const service = await openTestService()
  for (const name of names) {
    if (name.startsWith('stdio')) {
      const era = name === 'stdio' ? 'legacy' : 'modern'
      await register(service, 'raw', [`--name=${name}`, `--era=${era}`], { name })
      expect((await post(service, `/api/servers/${name}/start`)).statusCode).toBe(200)
    } else {
      const transport = name === 'sse' ? 'sse' : 'streamable_http'
      const added = await add(service, { name, url: await remote(name), transport }, '/api/http-servers')
      expect(added.statusCode, added.body).toBe(201)
      const called = await post(service, `/api/http-servers/${name}/tools/echo/call`, { arguments: {} })
      expect(called.statusCode, called.body).toBe(200)
    }
  }
  const key = await newKey(service)
  await expect.poll(() => resourcesOf(service, key), { timeout: 30_000 }).toBe(names.length)
  return { service, key }
}

const overStdio = sharedByTests(() => setUp(['stdio', 'stdio-modern']))
const searching = sharedByTests(async () => {
  const opened = await setUp(['stdio', 'stdio-modern'])
  const payload = { tool_mode: 'search' }
  const url = '/api/agents/cursor/tools'
  await opened.service.inject({ method: 'PUT', url, headers: AUTHORISED, payload })
  return opened
})

/** The prompts and resources of a server are listed a moment after its tools. */
async function resourcesOf(service: TestService, key: string): Promise<number> {
  const agent = await Agent.open(service, key, 'modern')
  const [resources, prompts] = [await agent.ask('resources/list'), await agent.ask('prompts/list')]
  const count = (result: unknown, field: string) => (result as Record<string, unknown[]>)[field]?.length ?? 0
  return Math.min(
    count(resources.answers[0]?.result, 'resources'),
    count(prompts.answers[0]?.result, 'prompts'),
  )
}

interface Sent {
  readonly service: TestService
  readonly agent: Agent
  readonly path: string
  readonly method: string
  /** The header that repeats the name. */
  readonly name?: string
  readonly params: string
}

/** The text that the server received. */
async function receivedLine({ service, agent, path, method, name, params }: Sent): Promise<string> {
  const modern = { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }
  const reply = await fetch(`${service.address}${path}`, {
    method: 'POST',
    headers: {
      ...agent.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(agent.era === 'modern' && modern),
    },
    body: `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`,
  })
  const text = await reply.text()
  const json = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6)
  const { id, result, error } = JSON.parse(json)
  expect(error, text).toBeUndefined()
  expect(id).toBe(7)
  return result.line
}

const metaOf = (era: Era, more: string) =>
  era === 'modern' ? `{${JSON.stringify(META).slice(1, -1)},"x/own":${more}}` : `{"x/own":${more}}`

test('every number, string and key order of an agent reaches every kind of server byte for byte, in both eras, small and large (Must hold: every JSON number)', async () => {
  const { service, key } = await setUp()
  const agents = await Promise.all(ERAS.map((era) => Agent.open(service, key, era)))
  const legacyAlone = new Map<string, Agent>()
  for (const server of SERVERS)
    legacyAlone.set(server, await Agent.open(service, key, 'legacy', `/mcp/${server}`))
  await fc.assert(
    fc.asyncProperty(
      objectText,
      objectText,
      fc.boolean(),
      fc.boolean(),
      async (small, own, isLarge, alone) => {
        const json = isLarge ? padded(small) : small
        const exact = onOneLine(json)
        for (const server of SERVERS)
          for (const together of agents) {
            const { era } = together
            const agent = alone && era === 'legacy' ? (legacyAlone.get(server) ?? together) : together
            const path = alone ? `/mcp/${server}` : '/mcp'
            const prefix = alone ? '' : `${server}__`
            const meta = `"_meta":${metaOf(era, own)}`
            const to = { service, agent, path }
            const called = await receivedLine({
              ...to,
              method: 'tools/call',
              name: `${prefix}echo`,
              params: `{"name":"${prefix}echo","arguments":${json},${meta}}`,
            })
            expect(called).toContain(`"name":"echo","arguments":${exact}`)
            expect(called).toContain(`"x/own":${onOneLine(own)}`)
            const prompt = await receivedLine({
              ...to,
              method: 'prompts/get',
              name: `${prefix}ask`,
              params: `{"vendor":${json},"name":"${prefix}ask","arguments":${json},${meta}}`,
            })
            expect(prompt).toContain(`"vendor":${exact},"name":"ask","arguments":${exact}`)
            const uri = `${server}:///one`
            const read = await receivedLine({
              ...to,
              method: 'resources/read',
              name: uri,
              params: `{"uri":"${uri}","vendor":${json},${meta}}`,
            })
            expect(read).toContain(`"uri":"${uri}","vendor":${exact}`)
            const complete = await receivedLine({
              ...to,
              method: 'completion/complete',
              params: `{"ref":{"type":"ref/prompt","name":"${prefix}ask","x":${json}},"argument":${json},${meta}}`,
            })
            expect(complete).toContain(`"name":"ask","x":${exact}},"argument":${exact}`)
          }
      },
    ),
    { numRuns: runs(6, 200), examples: EXAMPLES },
  )
})

/** What the code before this test changed. */
const EXAMPLES: [string, string, boolean, boolean][] = [
  ['{"n":1234567890123456789,"i":1e400,"z":-0,"o":1.0,"d":1,"d":2}', '{"n":1.0}', false, false],
  ['{"n":1234567890123456789,\r\n"i":[1e400,\n-0],"o":1.0,"d":1,"d":2}', '{"n":1E2}', true, true],
  [`{"n":1.0,"text":"${'x'.repeat(20_000)}"}`, '{"n":1.0}', false, false],
]

test.each(ERAS)(
  'the name of a %s agent occurs once in what a server receives, also when the agent sent it twice, so that no parser reads another one',
  async (era) => {
    const { service, key } = await overStdio()
    const agent = await Agent.open(service, key, era)
    for (const server of ['stdio', 'stdio-modern']) {
      const line = await receivedLine({
        service,
        agent,
        path: '/mcp',
        method: 'tools/call',
        name: `${server}__echo`,
        params: `{"n\\u0061me":"other","name":"${server}__echo","arguments":{"a":1.0},"_meta":${metaOf(era, '1')}}`,
      })
      expect(line).toContain('"name":"echo"')
      expect(line).not.toContain('other')
      expect(line).toContain('{"a":1.0}')
    }
  },
)

test.each(ERAS)(
  'call_tool of a %s agent in search mode passes the bytes of the inner arguments',
  async (era) => {
    const { service, key } = await searching()
    const agent = await Agent.open(service, key, era)
    for (const server of ['stdio', 'stdio-modern']) {
      const args = `{"name":"${server}__echo","arguments":{ "a":1.0,"b":1e400,"a":-0 }}`
      const line = await receivedLine({
        service,
        agent,
        path: '/mcp',
        method: 'tools/call',
        name: 'call_tool',
        params: `{"name":"call_tool","arguments":${args},"_meta":${metaOf(era, '1')}}`,
      })
      expect(line).toContain('"name":"echo","arguments":{ "a":1.0,"b":1e400,"a":-0 }')
    }
  },
)

/** Sends a message, and returns the messages of the response as texts. */
async function exchange(agent: Agent, body: string): Promise<string[]> {
  const reply = await agent.send(body, 'tools/call', JSON.parse(body).params?.name)
  const text = await reply.text()
  return text.startsWith('{')
    ? [text]
    : text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
}

const ANSWER =
  '{ "action":"accept","content":{"n":1.0,"big":18446744073709551615,"z":-0,"e":"\\u0061","n":1e400} }'

test.each(['stdio', 'stdio-modern'] as const)(
  'the answer of an agent to a request of the server %s reaches it byte for byte, in both eras, and the id of a legacy server comes back as it was written',
  async (server) => {
    const { service, key } = await setUp([server])
    const name = `${server}__ask`
    const modern = await Agent.open(service, key, 'modern')
    const meta = JSON.stringify(META).replace('{}', '{"elicitation":{}}')
    const call = (more: string) =>
      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"${name}","arguments":{},"_meta":${meta}${more}}}`
    const [required = ''] = await exchange(modern, call(''))
    const { inputRequests, requestState } = JSON.parse(required).result
    const [asked = ''] = Object.keys(inputRequests)
    const state = requestState === undefined ? '' : `,"requestState":${JSON.stringify(requestState)}`
    const [done = ''] = await exchange(modern, call(`,"inputResponses":{"${asked}":${ANSWER}}${state}`))
    expect(JSON.parse(done).result.line).toContain(ANSWER)

    const session = await LegacySession.open(service, key)
    const line = await session.answering(name, ANSWER)
    expect(line).toContain(ANSWER)
    if (server === 'stdio') expect(line).toBe(`{"jsonrpc":"2.0","id":9007199254740993,"result":${ANSWER}}`)
  },
)

/** A legacy agent that can be asked. */
class LegacySession {
  readonly #url: string
  readonly #headers: Record<string, string>

  private constructor(url: string, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  static async open({ address }: TestService, key: string): Promise<LegacySession> {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const params = { protocolVersion: '2025-06-18', capabilities: { elicitation: {} } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    const reply = await fetch(`${address}/mcp`, { method: 'POST', headers, body })
    return new LegacySession(`${address}/mcp`, {
      ...headers,
      'mcp-session-id': reply.headers.get('mcp-session-id') ?? '',
    })
  }

  /** Calls a tool, answers its request, and returns the text that the server received. */
  async answering(name: string, answer: string): Promise<string> {
    const send = (body: string) => fetch(this.#url, { method: 'POST', headers: this.#headers, body })
    const params = `{"name":"${name}","arguments":{}}`
    const reply = await send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
    let text = ''
    for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const isAsked = !text.includes('"elicitation/create"') && (text + part).includes('"elicitation/create"')
      text += part
      const id = /"id":("toolroom-\d+")/.exec(text)?.[1]
      if (isAsked) await send(`{"jsonrpc":"2.0","id":${id},"result":${answer}}`)
    }
    return JSON.parse(text.slice(text.lastIndexOf('data: ') + 6)).result.line
  }
}

test.each(ERAS)(
  'progress is reported to a %s agent with its token as it was written, also when JavaScript cannot represent it',
  async (era) => {
    const { service, key } = await overStdio()
    const agent = await Agent.open(service, key, era)
    for (const server of ['stdio', 'stdio-modern'])
      for (const token of ['9007199254740993', '1e400', '"\\u0061"', '0', '1.5']) {
        const meta = `{"progressToken":${token}${era === 'modern' ? `,${JSON.stringify(META).slice(1)}` : '}'}`
        const params = `{"name":"${server}__step","arguments":{},"_meta":${meta}}`
        const messages = await exchange(
          agent,
          `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`,
        )
        const shown = token.startsWith('"') ? '"a"' : token
        expect(messages[0]).toContain(`"progressToken":${shown}`)
        expect(messages).toHaveLength(2)
      }
  },
)

test.each(ERAS)(
  'a result in which a %s agent gets our URI for a resource keeps all other bytes',
  async (era) => {
    const service = await openTestService()
    for (const name of ['north', 'south']) {
      await register(service, 'raw', [`--name=${name}`, '--uri=book:///one'], { name })
      await post(service, `/api/servers/${name}/start`)
    }
    const key = await newKey(service)
    await expect.poll(() => resourcesOf(service, key), { timeout: 30_000 }).toBe(2)
    const agent = await Agent.open(service, key, era)
    const uri = 'toolroom://south/book%3A%2F%2F%2Fone'
    const reply = await fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers: {
        ...agent.headers,
        'content-type': 'application/json',
        ...(era === 'modern' && { 'mcp-method': 'resources/read', 'mcp-name': uri }),
      },
      body: `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"${uri}","_meta":${metaOf(era, '1')}}}`,
    })
    const text = await reply.text()
    expect(text).toContain('"exact": [1.0,-0,18446744073709551615]')
    expect(text).toContain(`"contents":[{"uri":"${uri}","text":""}]`)
  },
)
