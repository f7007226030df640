import { expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { type Exchange, LegacyAgent, modernRequest, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'

const CANCELLED = { code: -31499, message: 'The request was cancelled' }

async function setUp() {
  const service = await openTestService()
  await register(service, 'patient')
  await post(service, '/api/servers/patient/start')
  const key = await newKey(service, 'cursor')
  const endpoint = { address: service.address, key, path: '/mcp/patient' }
  const observer = await LegacyAgent.open({ ...endpoint, key: await newKey(service, 'codex') })
  const count = async (tool: 'held' | 'cancelled') => Number(textIn(await observer.call(tool).responded()))
  return {
    service,
    endpoint,
    /** Waits until the server holds this many calls. */
    held: (calls: number) => expect.poll(() => count('held')).toBe(calls),
    /** Waits until the server has received this many cancellations. */
    cancelled: (calls: number) => expect.poll(() => count('cancelled')).toBe(calls),
    go: () => observer.call('go').responded(),
  }
}

async function removeKey(service: TestService, agentType: string) {
  const { items } = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json<{
    items: { id: string; agent_type: string }[]
  }>()
  const id = items.find(({ agent_type }) => agent_type === agentType)?.id
  await service.inject({ method: 'DELETE', url: `/api/keys/${id}`, headers: AUTHORISED })
}

test('a cancelled request of a legacy agent ends at once, and the server receives the cancellation', async () => {
  const { endpoint, held, cancelled, go } = await setUp()
  const agent = await LegacyAgent.open(endpoint)
  const calls = [agent.call('hold'), agent.call('hold', { steps: 1 }, 0)]
  await held(2)
  for (const { requestId } of calls)
    agent.send({ method: 'notifications/cancelled', params: { requestId, reason: 'enough' } })
  for (const call of calls) {
    await call.closed()
    expect(call.messages.at(-1)).toEqual({ jsonrpc: '2.0', id: call.requestId, error: CANCELLED })
  }
  expect(calls.map(({ type }) => type.split(';')[0])).toEqual(['application/json', 'text/event-stream'])
  await cancelled(2)
  await go() // the late responses of the server are dropped
  expect(textIn(await agent.call('held').responded())).toBe('0')
})

test('a cancellation of initialize or of an unknown request is ignored', async () => {
  const { endpoint, cancelled } = await setUp()
  const agent = await LegacyAgent.open(endpoint)
  for (const requestId of ['initialize', 7, null, {}]) {
    const cancellation = agent.send({ method: 'notifications/cancelled', params: { requestId } })
    await cancellation.closed()
    expect(cancellation.status).toBe(202)
  }
  expect(textIn(await agent.call('held').responded())).toBe('0')
  await cancelled(0)
})

test('the end of a session cancels its pending requests', async () => {
  const { endpoint, held, cancelled } = await setUp()
  const agent = await LegacyAgent.open(endpoint)
  const call = agent.call('hold', { steps: 1 }, 0)
  await held(1)
  const ended = agent.end()
  await call.closed()
  expect(call.response?.error).toEqual(CANCELLED)
  await ended.closed()
  expect(ended.status).toBe(204)
  await cancelled(1)
})

test('a modern agent cancels a request by disconnecting', async () => {
  const { endpoint, held, cancelled } = await setUp()
  const calls = [0, 1].map((progressToken) =>
    modernRequest(
      endpoint,
      'tools/call',
      { name: 'hold', arguments: { steps: progressToken } },
      { progressToken },
    ),
  )
  await held(2)
  for (const call of calls) call.disconnect()
  await cancelled(2)
})

test('deleting a key cancels its pending requests, in both eras', async () => {
  const { service, endpoint, held, cancelled } = await setUp()
  const agent = await LegacyAgent.open(endpoint)
  const calls: Exchange[] = [
    agent.call('hold'),
    modernRequest(endpoint, 'tools/call', { name: 'hold', arguments: {} }, { id: 'modern' }),
  ]
  await held(2)
  await removeKey(service, 'cursor')
  for (const call of calls) {
    await call.closed()
    expect(call.response?.error).toEqual(CANCELLED)
  }
  await cancelled(2)
})

/** A call over REST whose client leaves when `isWaiting`; the status and the error under which it is recorded. */
async function recordedAs(service: TestService, path: string, isWaiting: () => Promise<boolean>) {
  const leave = new AbortController()
  const call = fetch(`${service.address}${path}/tools/any/call`, {
    method: 'POST',
    headers: { ...AUTHORISED, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: '{"arguments":{},"timeout_s":10}',
    signal: leave.signal,
  })
  await expect.poll(isWaiting).toBe(true)
  leave.abort()
  await call.then((response) => response.text()).catch(() => {})
  const calls = async () => (await service.inject({ url: '/api/calls', headers: AUTHORISED })).json().items
  await expect.poll(async () => (await calls()).length).toBe(1)
  const [{ status, error_code }] = await calls()
  return [status, error_code]
}

test('a call that is cancelled while its server starts is recorded as cancelled, not as a start that took too long', async () => {
  const service = await openTestService()
  const silent = { name: 'silent', command: process.execPath, args: ['-e', 'process.stdin.resume()'] }
  await post(service, '/api/servers', silent)
  const isStarting = async () =>
    (await service.inject({ url: '/api/servers/silent', headers: AUTHORISED })).json().status === 'starting'
  expect(await recordedAs(service, '/api/servers/silent', isStarting)).toEqual(['cancelled', 'cancelled'])
})

test('a call at the gateway that is cancelled while its server starts for the first time is recorded as cancelled', async () => {
  const service = await openTestService()
  const silent = { name: 'silent', command: process.execPath, args: ['-e', 'process.stdin.resume()'] }
  await post(service, '/api/servers', { ...silent, start_mode: 'on_demand' })
  const endpoint = { address: service.address, key: await newKey(service, 'cursor'), path: '/mcp/silent' }
  const call = modernRequest(endpoint, 'tools/call', { name: 'any', arguments: {} })
  const status = async () =>
    (await service.inject({ url: '/api/servers/silent', headers: AUTHORISED })).json().status
  await expect.poll(status).toBe('starting')
  call.disconnect()
  const calls = async () => (await service.inject({ url: '/api/calls', headers: AUTHORISED })).json().items
  await expect.poll(calls).toMatchObject([{ status: 'cancelled', error_code: 'cancelled' }])
})

test('a call that is cancelled while its HTTP server is being connected is recorded as cancelled, not as a timeout', async () => {
  const service = await openTestService()
  const site = await openHttp(() => {}) // does not answer
  onTestFinished(() => site.close())
  await post(service, '/api/http-servers', { name: 'silent', url: site.origin, timeouts: { connect_s: 3 } })
  const isAsked = async () => site.received.length > 0
  expect(await recordedAs(service, '/api/http-servers/silent', isAsked)).toEqual(['cancelled', 'cancelled'])
})
