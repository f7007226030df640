import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent, newKey } from '../../../test/support/gateway.ts'
import { openRelay } from '../../../test/support/relay.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { DeadlineTimer } from '../../mcp/client/pending-requests.ts'
import { requestMs, startWaitMs } from './call-recorder.ts'

describe('the time limit of a request', () => {
  test.each([
    ['a call of an agent has 10 minutes', { waits: true }, null, 600],
    ['a call over REST has 60 s', {}, null, 60],
    ['request_s narrows the limit of agents', { waits: true }, 5, 5],
    ['request_s extends the limit of agents', { waits: true }, 3600, 3600],
    ['request_s is the limit over REST', {}, 5, 5],
    ['timeout_s of a REST call wins over request_s', { timeout_s: 2 }, 5, 2],
  ] as const)('%s', (_, call, request_s, seconds) => {
    expect(requestMs(call, { request_s })).toBe(seconds * 1000)
  })

  test('an agent waits no longer for the start of a server than a REST call', () => {
    expect(startWaitMs({ waits: true }, { request_s: null })).toBe(60_000)
    expect(startWaitMs({ waits: true }, { request_s: 5 })).toBe(5000)
  })
})

/** The deadlines of more than half a minute that requests to servers have got, in seconds. */
function longDeadlines() {
  const spy = vi.spyOn(DeadlineTimer.prototype, 'set')
  onTestFinished(() => spy.mockRestore())
  return () =>
    spy.mock.calls.flatMap(([, ms]) => (ms > 30_000 && ms < 3_600_000 ? [Math.ceil(ms / 1000)] : []))
}

test.each(['stdio', 'http'] as const)(
  'a call of an agent to a server over %s that has no request_s may take 10 minutes, and a REST call 60 s',
  async (over) => {
    const relay = await openRelay({ agent: 'legacy', server: 'legacy', over })
    const deadlines = longDeadlines()
    await relay.serverState() // over REST
    expect(deadlines()).toEqual([60])
    await relay.call('echo', { text: 'x' }).responded()
    await relay.request('prompts/get', { name: relay.named('greet') }).responded()
    expect(deadlines()).toEqual([60, 600, 600])
  },
)

test('a call of an agent that takes longer than request_s ends, is cancelled, and gets a hint that its user can follow', async () => {
  const service = await openTestService()
  await register(service, 'patient', [], { timeouts: { start_s: 60, stop_s: 1, request_s: 1 } })
  await post(service, '/api/servers/patient/start')
  const agent = await Agent.open(service, await newKey(service), 'legacy')
  const { answers } = await agent.call('patient__hold')
  const hint = "Raise timeouts.request_s of 'patient' in Toolroom, or use a server that reports progress"
  expect(answers[0]?.error).toMatchObject({ code: -32603, data: { code: 'call_timeout', hint } })
  const cancelled = await post(service, '/api/servers/patient/tools/cancelled/call', {})
  expect(cancelled.json()).toMatchObject({ content: [{ text: '1' }] })
})

test('request_s of a server can be set, is shown, and can be removed again', async () => {
  const service = await openTestService()
  expect((await register(service, 'echo')).timeouts.request_s).toBeNull()
  for (const request_s of [5, null]) {
    const reply = await service.inject({
      method: 'PATCH',
      url: '/api/servers/echo',
      headers: AUTHORISED,
      payload: { timeouts: { request_s } },
    })
    expect(reply.json()).toMatchObject({ timeouts: { request_s } })
  }
})
