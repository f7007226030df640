import { describe, expect, test } from 'vitest'
import { Agent, callsStarted, type Era, META, newKey, textOf } from '../../../test/support/gateway.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { leastCpuMs } from '../../../test/support/measuring.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
const MIB = 1024 * 1024
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

async function setUp(kinds: readonly string[], args: readonly string[] = []) {
  const service = await openTestService()
  for (const kind of kinds) {
    await register(service, kind, args)
    await post(service, `/api/servers/${kind}/start`)
  }
  return { service, key: await newKey(service) }
}

const shared = sharedByTests(() => setUp(['mirror', 'echo', 'deep']))
const with900Levels = sharedByTests(() => setUp(['deep'], ['--levels=900']))

/** Sends the text of the arguments as it is. */
async function call(agent: Agent, tool: string, args: string) {
  const meta = agent.era === 'modern' ? `,"_meta":${JSON.stringify(META)}` : ''
  const params = `{"name":"${tool}","arguments":${args}${meta}}`
  const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`
  const reply = await agent.send(body, 'tools/call', tool)
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
}

describe.each(ERAS)('JSON of a %s agent', (era) => {
  test('a request of 64 levels reaches the server, and one of 65 levels is refused with 400 before any server is called (case 20)', async () => {
    const { service, key } = await shared()
    const agent = await Agent.open(service, key, era)
    const started = await callsStarted(service)
    // The message, its params and the arguments are three levels.
    const accepted = await call(agent, 'mirror__mirror', `{"text":"[[[\\"[[","deep":${nested(61)}}`)
    expect(accepted).toMatchObject({ status: 200, body: { id: 7, result: {} } })
    const refused = await call(agent, 'mirror__mirror', `{"deep":${nested(62)}}`)
    expect(refused).toMatchObject({
      status: 400,
      body: { id: null, error: { code: -32_700, message: 'The body is nested deeper than 64 levels' } },
    })
    await expect.poll(started).toBe(1)
  })

  test('10 MiB of brackets cost less CPU time than 10 MiB of zeros, and the next call is answered', async () => {
    const { service, key } = await shared()
    const agent = await Agent.open(service, key, era)
    const cpuOf = (args: string, reply: object) =>
      leastCpuMs(async () => expect(await call(agent, 'echo__unknown', args)).toMatchObject(reply))
    const levels = (10 * MIB - 1000) / 2
    const zeros = await cpuOf(`{"flat":[${'0,'.repeat(levels - 1)}0]}`, {
      body: { error: { code: -32_602 } },
    })
    const brackets = await cpuOf(`{"deep":${nested(levels)}}`, { status: 400 })
    expect(brackets).toBeLessThan(zeros)
    expect(textOf((await agent.call('echo__echo', { text: 'here' })).answers[0])).toBe('here')
  })
})

describe('JSON of a server', () => {
  const MESSAGES = ['notification', 'progress', 'request', 'request_id', 'stray']

  test.each(ERAS)(
    'a message of 100,000 levels to a %s agent is dropped, and its call is answered',
    async (era) => {
      const { service, key } = await shared()
      const agent = await Agent.open(service, key, era)
      for (const name of MESSAGES) {
        const params = { name: `deep__${name}`, arguments: {}, _meta: { progressToken: 'p' } }
        const { answers } = await agent.ask('tools/call', params)
        expect(textOf(answers[0]), name).toBe('done')
      }
    },
  )

  test.each(ERAS)(
    'a response of 100,000 levels fails only the call of the %s agent that it belongs to',
    async (era) => {
      const { service, key } = await shared()
      const agent = await Agent.open(service, key, era)
      for (const name of ['result', 'error']) {
        const { answers } = await agent.call(`deep__${name}`)
        expect(answers[0]?.error?.message, name).toContain('is nested deeper than 1000 levels')
      }
      expect(textOf((await agent.call('deep__stray')).answers[0])).toBe('done')
    },
  )

  test.each(ERAS)('messages and responses of 900 levels reach a %s agent', async (era) => {
    const { service, key } = await with900Levels()
    const agent = await Agent.open(service, key, era)
    const { answers } = await agent.call('deep__result')
    expect(JSON.stringify(answers[0]?.result)).toContain(nested(900))
    expect((await agent.call('deep__error')).answers[0]?.error).toMatchObject({
      code: -32_000,
      message: 'no',
    })
    for (const name of MESSAGES)
      expect(textOf((await agent.call(`deep__${name}`)).answers[0]), name).toBe('done')
  })
})
