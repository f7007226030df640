import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import { Agent, type Era, META, newKey } from '../../test/support/gateway.ts'
import { openLoginServer } from '../../test/support/login-server.ts'
import { post } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'

/** A service with a server whose tools are known from an earlier login, which has ended. */
async function openLoggedOut() {
  const service = await openTestService()
  const server = await openLoginServer()
  await post(service, '/api/http-servers', { name: 'linear', url: server.url })
  const { authorization_url } = (await post(service, '/api/http-servers/linear/login', {})).json()
  await fetch(authorization_url)
  await service.inject({ method: 'DELETE', url: '/api/http-servers/linear/login', headers: AUTHORISED })
  server.expire()
  return { service, ...server }
}

/** A user who opens the page of Toolroom, presses its button, and confirms the account. Returns the last page. */
async function logIn(startUrl: string): Promise<string> {
  const { origin } = new URL(startUrl)
  const sent = await fetch(startUrl, { method: 'POST', headers: { origin }, redirect: 'manual' })
  const page = await (await fetch(sent.headers.get('location') ?? '')).text()
  const path = `${origin}/api/http-servers/linear/login`
  const { auth } = (await (await fetch(path, { headers: AUTHORISED })).json()) as { auth: { state: string } }
  expect(auth.state).not.toBe('logged_in') // the calls still wait
  const headers = { ...AUTHORISED, 'content-type': 'application/json' }
  const confirmed = await fetch(`${path}/confirm`, { method: 'POST', headers, body: '{"accept":true}' })
  expect(await confirmed.json()).toMatchObject({ ok: true, unconfirmed: false })
  return page
}

const startUrlIn = (text: string): string => /http:\/\/\S+\/oauth\/start\/[\w-]+/.exec(text)?.[0] ?? ''
const callsOf = async (service: TestService) =>
  (await service.inject({ url: '/api/calls', headers: AUTHORISED })).json().items

test.each<Era>(['legacy', 'modern'])(
  'a %s agent without URL elicitation gets a result with the link, and the same call works after the login (docs/login.md)',
  async (era) => {
    const { service } = await openLoggedOut()
    const agent = await Agent.open(service, await newKey(service), era)
    const { answers: listed } = await agent.ask('tools/list')
    expect(JSON.stringify(listed)).toContain('"linear__echo"')

    const call = () => agent.call('linear__echo', { text: 'hello' })
    const texts = (await Promise.all([call(), call()])).map(({ status, answers }) => {
      expect([status, answers.length]).toEqual([200, 1])
      const result = answers[0]?.result as {
        isError: boolean
        content: { text: string }[]
        resultType?: string
      }
      expect(result.isError).toBe(true)
      expect(result.resultType).toBe(era === 'modern' ? 'complete' : undefined)
      return result.content[0]?.text ?? ''
    })
    expect(texts[0]).toMatch(
      new RegExp(`^linear needs a login: open ${service.address}/oauth/start/[\\w-]{22}, then call again$`),
    )
    expect(new Set(texts).size).toBe(1) // one ticket, however many calls
    expect((await callsOf(service))[0]).toMatchObject({
      status: 'error',
      error_code: 'login_needed',
      tool: 'echo',
    })

    expect(await logIn(startUrlIn(texts[0] ?? ''))).toContain('Confirm the login to linear')
    expect((await call()).answers[0]?.result).toMatchObject({ content: [{ type: 'text', text: 'hello' }] })
  },
)

test('a legacy agent with URL elicitation is asked with the page of Toolroom, and its call continues after the login (docs/login.md)', async () => {
  const { service } = await openLoggedOut()
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {}, url: {} } } },
  )
  const asked: object[] = []
  const pages: Promise<string>[] = []
  let action: 'accept' | 'decline' = 'decline'
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params)
    if (action === 'accept') pages.push(logIn('url' in params ? params.url : ''))
    return { action }
  })
  const transport = new StreamableHTTPClientTransport(new URL(`${service.address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${await newKey(service)}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = () => client.callTool({ name: 'linear__echo', arguments: { text: 'hello' } })

  expect(await call()).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('needs a login') }],
  })
  action = 'accept'
  for (const result of await Promise.all([call(), call(), call()]))
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'hello' }] })
  expect(asked).toHaveLength(2) // once for all calls that wait
  expect(asked[1]).toMatchObject({
    mode: 'url',
    url: expect.stringMatching(new RegExp(`^${service.address}/oauth/start/`)),
    message: 'linear needs a login. Open this page to log in. The call then continues',
  })
  expect(await pages[0]).toContain('Confirm the login to linear')
  const codes = (await callsOf(service)).map(({ error_code }: { error_code: string | null }) => error_code)
  expect(codes).toEqual([null, null, null, 'login_needed'])
})

test('when the call that asked for a login is cancelled, another call that waits asks again and gets its result', async () => {
  const { service } = await openLoggedOut()
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } })
  const urls: string[] = []
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    urls.push('url' in params ? params.url : '')
    return { action: 'accept' }
  })
  const transport = new StreamableHTTPClientTransport(new URL(`${service.address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${await newKey(service)}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = (options?: { signal: AbortSignal }) =>
    client.callTool({ name: 'linear__echo', arguments: { text: 'hello' } }, undefined, options)

  const first = new AbortController()
  const cancelled = call(first).catch((error: Error) => error)
  await expect.poll(() => urls.length).toBe(1)
  const waiting = call()
  await sleep(200)
  first.abort()
  expect(await cancelled).toBeInstanceOf(Error)
  await expect.poll(() => urls.length).toBe(2)
  expect(await logIn(urls[1] ?? '')).toContain('Confirm the login to linear')
  expect(await waiting).toMatchObject({ content: [{ type: 'text', text: 'hello' }] })
})

test('a modern agent with URL elicitation gets it as input_required, and its next request gets the result after the login', async () => {
  const { service } = await openLoggedOut()
  const key = await newKey(service)
  const send = async (more: object = {}) => {
    const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } } }
    const params = { name: 'linear__echo', arguments: { text: 'hello' }, _meta, ...more }
    const reply = await fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'linear__echo',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    return ((await reply.json()) as { result: Record<string, unknown> }).result
  }
  const first = await send()
  expect(first).toMatchObject({
    resultType: 'input_required',
    inputRequests: { 1: { method: 'elicitation/create', params: { mode: 'url' } } },
  })
  const answered = send({ requestState: first.requestState, inputResponses: { 1: { action: 'accept' } } })
  expect(await logIn(startUrlIn(JSON.stringify(first)))).toContain('Confirm the login to linear')
  expect(await answered).toMatchObject({ resultType: 'complete', content: [{ text: 'hello' }] })
})

test('over REST, a call answers 409 with the page of the login, and a streamed call asks for it', async () => {
  const { service } = await openLoggedOut()
  const url = '/api/http-servers/linear/tools/echo/call'
  const payload = { arguments: { text: 'hello' } }
  const refused = (await post(service, url, payload)).json()
  expect(refused).toMatchObject({
    status: 409,
    code: 'login_needed',
    detail: `linear needs a login: open ${refused.start_url}, then call again`,
    hint: 'Or run: toolroom login linear',
    start_url: expect.stringMatching(new RegExp(`^${service.address}/oauth/start/[\\w-]+$`)),
  })
  const headers = { ...AUTHORISED, 'content-type': 'application/json', accept: 'text/event-stream' }
  const streamed = fetch(service.address + url, { method: 'POST', headers, body: JSON.stringify(payload) })
  const reader = (await streamed).body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('event: elicitation')) text += (await reader?.read())?.value ?? ''
  expect(startUrlIn(text)).toBe(refused.start_url)
  await logIn(refused.start_url)
  while (!text.includes('event: result')) text += (await reader?.read())?.value ?? ''
  expect(text).toContain('"hello"')
})
