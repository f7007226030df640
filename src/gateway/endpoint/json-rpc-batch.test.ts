import { expect, test } from 'vitest'
import { Exchange, LegacyAgent, type Message, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

const VERSION = '2025-03-26'

async function setUp(version = VERSION, path = '/mcp/patient') {
  const service = await openTestService()
  await register(service, 'patient')
  await post(service, '/api/servers/patient/start')
  const endpoint = { address: service.address, key: await newKey(service), path }
  const agent = await LegacyAgent.open(endpoint, version, { elicitation: {} })
  const send = (body: unknown, session: string | null = agent.session) =>
    new Exchange(endpoint.address + endpoint.path, {
      headers: {
        authorization: `Bearer ${endpoint.key}`,
        ...(session !== null && { 'mcp-session-id': session }),
      },
      body: body as object,
    })
  return { agent, send }
}

const request = (id: number | string, method: string, params: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method, params },
})
const call = (id: number, name: string, args: object = {}) =>
  request(id, 'tools/call', { name, arguments: args })

/** The messages of the one JSON array, by id. */
async function arrayIn(exchange: Exchange): Promise<Message[]> {
  await exchange.closed()
  const [array] = exchange.messages as unknown as [Message[]]
  expect(array).toBeInstanceOf(Array)
  const keyOf = ({ id, error }: Message) => `${id} ${error?.code ?? ''}`
  return array.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)))
}

test('a batch of protocol version 2025-03-26 is answered with one array of all responses', async () => {
  const { send } = await setUp()
  const batch = send([
    request(0, 'ping'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    call(1, 'held'),
    call(2, 'nothing'),
    request('3', 'no/such/method'),
  ])
  const answers = await arrayIn(batch)
  expect(batch.status).toBe(200)
  expect(answers).toMatchObject([
    { id: 0, result: {} },
    { id: 1, result: { content: [{ text: '0' }] } },
    { id: 2, error: { code: -32602 } },
    { id: '3', error: { code: -32601 } },
  ])
  expect(answers).toHaveLength(4)
})

test('each message of a batch that is not valid gets its own error, and the others are answered', async () => {
  const { send } = await setUp()
  const answers = await arrayIn(
    send([
      1,
      [],
      { jsonrpc: '1.0', id: 5, method: 'ping' },
      request(0, 'ping'),
      request(0, 'ping'),
      request(1, 'initialize'),
    ]),
  )
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [0, undefined],
    [0, -32600],
    [1, -32600],
    ...[1, 2, 3].map(() => [null, -32600]),
  ])
})

test('a batch without requests gets 202, and its notifications and responses take effect', async () => {
  const { agent, send } = await setUp()
  const ask = agent.call('ask')
  const question = () => ask.messages.find(({ method }) => method === 'elicitation/create')
  await expect.poll(question).toBeDefined()
  const hold = agent.call('hold')
  await expect.poll(async () => textIn(await agent.call('held').responded())).toBe('1')
  const batch = send([
    { jsonrpc: '2.0', id: question()?.id, result: { action: 'decline' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: hold.requestId } },
  ])
  await batch.closed()
  expect(batch.status).toBe(202)
  expect(textIn(await ask.responded())).toBe('[{"action":"decline"}]')
  expect((await hold.responded()).error?.message).toBe('The request was cancelled')
})

test('a batch is answered with a stream when a server sends messages before a response', async () => {
  const { agent, send } = await setUp()
  const batch = send([request(0, 'ping'), call(1, 'hold'), call(2, 'ask')])
  const question = () => batch.messages.find(({ method }) => method === 'elicitation/create')
  await expect.poll(question).toBeDefined()
  agent.send({ id: question()?.id, result: { action: 'decline' } })
  const answered = () => batch.messages.filter(({ method }) => method === undefined).map(({ id }) => id)
  await expect.poll(answered).toEqual([0, 2])
  await agent.call('go').responded()
  await batch.closed()
  expect(answered()).toEqual([0, 2, 1])
})

test.each(['2024-11-05', '2025-06-18', '2025-11-25'])(
  'a batch in a session of %s is refused with 400, a reason and no effect',
  async (version) => {
    const { agent, send } = await setUp(version)
    const batch = send([call(0, 'hold')])
    expect(await batch.responded()).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining(`this session uses ${version}`) },
    })
    expect(batch.status).toBe(400)
    expect(textIn(await agent.call('held').responded())).toBe('0')
  },
)

test('a batch that is empty, too long, not JSON, too deep or without a session is refused with 400', async () => {
  const { send } = await setUp()
  const deep = JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`)
  const many = Array.from({ length: 101 }, (_, id) => request(id, 'ping'))
  const refused: [unknown, string, (null | undefined)?][] = [
    [[], 'The batch is empty'],
    [many, 'more than 100 messages'],
    [deep, 'nested too deeply'],
    [[request(0, 'ping')], 'this request has no session', null],
  ]
  for (const [body, message, session] of refused) {
    const batch = send(body, session)
    expect((await batch.responded()).error?.message).toContain(message)
    expect(batch.status).toBe(400)
  }
})
