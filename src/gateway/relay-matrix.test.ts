import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Message, textIn } from '../../test/support/event-streams.ts'
import { sharedByTests } from '../../test/support/lifetime.ts'
import {
  COLUMNS,
  notificationsIn,
  openRelays,
  type Relay,
  settle,
  titleOf,
} from '../../test/support/relay.ts'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const FROM_ERROR = ['error', 'critical', 'alert', 'emergency']
const URI = 'relay://one'
const UNSUPPORTED = 'The client does not support elicitation/create'

/** ✓ if the message is passed on. Otherwise what happens instead, which the cell tests as well. */
type Outcome = '✓' | (string & {})
type Cell = (relay: Relay) => Promise<Outcome>

const ROWS: Readonly<Record<string, Cell>> = {
  '`tools/call`': async ({ agent, call }) => {
    const response = await call('echo', { text: 'größe 🎈' }).responded()
    expect(textIn(response)).toBe('größe 🎈')
    if (agent === 'modern') expect(response.result).toMatchObject({ resultType: 'complete' })
    return '✓'
  },

  'progress notifications': async ({ call }) => {
    const counting = call('count', {}, { progressToken: 0 })
    expect(textIn(await counting.responded())).toBe('counted')
    expect(notificationsIn(counting.messages, 'progress')).toEqual([
      { progressToken: 0, progress: 1, total: 2 },
      { progressToken: 0, progress: 2, total: 2 },
    ])
    return '✓'
  },

  '`tools/list_changed`': async ({ request, call, listen, named }) => {
    const stream = await listen({ toolsListChanged: true })
    await settle(stream)
    const count = () => notificationsIn(stream.messages, 'tools/list_changed').length
    const before = count()
    // The gateway subscribes in the background, and no response confirms it.
    await expect.poll(async () => (await call('grow').responded()) && count()).toBeGreaterThan(before)
    const { result } = await request('tools/list').responded()
    expect(result?.tools).toContainEqual(expect.objectContaining({ name: named('late_1') }))
    return '✓'
  },

  '`prompts/get`': async ({ request, named }) => {
    const greet = { name: named('greet'), arguments: { who: 'you' } }
    const { result } = await request('prompts/get', greet).responded()
    expect(result?.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello you' } }])
    return '✓'
  },

  '`resources/read`': async ({ request }) => {
    const { result } = await request('resources/read', { uri: URI }).responded()
    expect(result?.contents).toEqual([{ uri: URI, text: `the text of ${URI}` }])
    return '✓'
  },

  '`completion/complete`': async ({ request, named }) => {
    const ref = { type: 'ref/prompt', name: named('greet') }
    const argument = { name: 'who', value: 'Wash' }
    const { result } = await request('completion/complete', { ref, argument }).responded()
    expect(result?.completion).toEqual({ values: ['greet: Washington'], hasMore: false })
    return '✓'
  },

  'log messages': async (relay) => {
    const logged = relay.agent === 'legacy' ? await loggedToSession(relay) : await loggedToRequest(relay)
    const logger = relay.named('') === '' ? 'desk' : 'relay/desk'
    expect(logged).toMatchObject(FROM_ERROR.map((level) => ({ level, logger, data: { said: level } })))
    return '✓'
  },

  '`resources/updated`': async ({ agent, request, call, listen }) => {
    const stream = await listen({ resourceSubscriptions: [URI] })
    if (agent === 'legacy')
      expect(await request('resources/subscribe', { uri: URI }).responded()).toHaveProperty('result')
    const updated = () => notificationsIn(stream.messages, 'resources/updated').map(({ uri }) => uri)
    await expect.poll(async () => (await call('touch', { uri: URI }).responded()) && updated()).toContain(URI)
    return '✓'
  },

  'elicitation during a call': (relay) => {
    const answer = { action: 'accept', content: { name: 'alice' } }
    return answered(relay, 'elicit', 'elicitation/create', { message: 'Who?' }, answer)
  },

  'sampling during a call': (relay) => {
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Because' } }
    return answered(relay, 'sample', 'sampling/createMessage', { maxTokens: 5 }, answer)
  },

  '`roots/list` during a call': (relay) =>
    answered(relay, 'roots', 'roots/list', {}, { roots: [{ uri: 'file:///somewhere' }] }),

  'server request without the client capability': async ({ server, withoutCapabilities }) => {
    const { call } = await withoutCapabilities()
    const response = await call('elicit').responded()
    if (server === 'legacy') {
      expect(JSON.parse(textIn(response))).toEqual({ refused: { code: -32601, message: UNSUPPORTED } })
      return 'the server gets -32601'
    }
    const data = { requiredCapabilities: { elicitation: {} } }
    expect(response.error).toEqual({ code: -32021, message: 'The client cannot be asked', data })
    return 'the server returns -32021'
  },

  cancellation: async (relay) => {
    const { cancelled } = await relay.serverState()
    const holding = await held(relay)
    if (relay.agent === 'modern') holding.disconnect()
    else relay.send({ method: 'notifications/cancelled', params: { requestId: holding.requestId } })
    await expect.poll(relay.serverState).toMatchObject({ cancelled: cancelled + 1, held: 0 })
    return '✓'
  },

  'disconnect of the agent': async (relay) => {
    const { cancelled } = await relay.serverState()
    const holding = await held(relay)
    holding.disconnect()
    await holding.closed()
    if (relay.agent === 'modern') {
      await expect.poll(relay.serverState).toMatchObject({ cancelled: cancelled + 1, held: 0 })
      return 'the call is cancelled'
    }
    // A cancellation would have reached the server before these calls.
    for (const text of ['a', 'b']) expect(textIn(await relay.call('echo', { text }).responded())).toBe(text)
    expect(await relay.serverState()).toMatchObject({ cancelled, held: 1 })
    return 'the call continues'
  },

  'code, message and data of an error': async ({ call }) => {
    const { error } = await call('fail').responded()
    const data = { shelf: 7, keys: [null, 'ß'] }
    expect(error).toEqual({ code: 4711, message: 'The shelf is locked', data })
    return '✓'
  },

  'unknown fields of a result': async ({ call }) => {
    const { result } = await call('odd').responded()
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'odd', x_inner: 1 }],
      x_outer: { deep: [1.5, null, 'ß'] },
    })
    return '✓'
  },
}

/** The log messages of a session that has set its log level. They arrive on any of its streams. */
async function loggedToSession({ request, serverState, call, listen, server }: Relay) {
  const stream = await listen({})
  expect(await request('logging/setLevel', { level: 'error' }).responded()).toHaveProperty('result')
  if (server === 'legacy') await expect.poll(async () => (await serverState()).level).toBe('error')
  const logging = call('log')
  await logging.responded()
  const logged = () => notificationsIn([...stream.messages, ...logging.messages], 'message')
  await expect.poll(() => logged().length).toBeGreaterThanOrEqual(FROM_ERROR.length)
  return logged()
}

/** The log messages of a request with its own log level. */
async function loggedToRequest({ call }: Relay) {
  await call('echo', { text: '' }).responded() // the first request waits until the era of the server is detected
  const logging = call('log', {}, { [LOG_LEVEL]: 'error' })
  await logging.responded()
  return notificationsIn(logging.messages, 'message')
}

/** A server request during a call reaches the agent, and the answer of the agent reaches the server. */
async function answered(
  relay: Relay,
  tool: string,
  method: string,
  requestParams: object,
  answer: object,
): Promise<'✓'> {
  const call = relay.call(tool)
  const last = relay.agent === 'legacy' ? legacyAnswer() : modernAnswer()
  expect(JSON.parse(textIn(await last))).toEqual(answer)
  return '✓'

  async function legacyAnswer(): Promise<Message> {
    const found = () => call.messages.find((each) => each.method === method)
    await expect.poll(found).toMatchObject({ params: requestParams })
    relay.send({ id: found()?.id, result: answer })
    return call.responded()
  }

  async function modernAnswer(): Promise<Message> {
    const { result } = await call.responded()
    expect(result).toMatchObject({ resultType: 'input_required' })
    const { inputRequests = {}, requestState } = result ?? {}
    const entries = Object.entries(inputRequests as Record<string, Message>)
    expect(entries.map(([, each]) => each)).toMatchObject([{ method, params: requestParams }])
    const inputResponses = Object.fromEntries(entries.map(([key]) => [key, answer]))
    const params = { name: relay.named(tool), arguments: {}, inputResponses, requestState }
    return relay.request('tools/call', params).responded()
  }
}

/** A call that the server has received and does not answer. */
async function held(relay: Relay) {
  const holding = relay.call('hold')
  await expect.poll(async () => (await relay.serverState()).held).toBe(1)
  return holding
}

const TITLES = COLUMNS.map(titleOf)
const columns = COLUMNS.map((column) => [titleOf(column), column] as const)
const outcomes = new Map<string, Outcome>()
const atOneServer = new Map<string, Outcome>()

/** Rows that count notifications or hold calls have a second service, and are tested only at /mcp. */
const OWN_SERVICE = /list_changed|cancellation|disconnect/
const sharedRows = Object.entries(ROWS).filter(([row]) => !OWN_SERVICE.test(row))
const ownRows = Object.entries(ROWS).filter(([row]) => OWN_SERVICE.test(row))

async function runRows(relay: Relay, title: string, outcomesOf: Map<string, Outcome>): Promise<void> {
  for (const [row, cell] of sharedRows) {
    const outcome = await cell(relay).catch((cause: unknown) => {
      throw new Error(`The row '${row}' has another outcome than the table`, { cause })
    })
    outcomesOf.set(`${row} ${title}`, outcome)
  }
}

describe.each(columns)('%s', (title, column) => {
  const shared = sharedByTests(() => openRelays(column))
  const own = sharedByTests(() => openRelays(column))

  test(`${title}: messages are relayed at /mcp as the table in docs/gateway.md shows`, async () =>
    runRows(await (await shared())('/mcp'), title, outcomes))

  test(`${title}: messages are relayed at /mcp/{server_id} as at /mcp`, async () =>
    runRows(await (await shared())('/mcp/relay'), title, atOneServer))

  test.each(ownRows)(
    `${title}: %s has the outcome that the table in docs/gateway.md shows`,
    async (row, cell) => {
      outcomes.set(`${row} ${title}`, await cell(await (await own())('/mcp')))
    },
  )
})

/** UPDATE=1 writes the table. */
test('the table in docs/gateway.md shows the outcomes at both endpoints', () => {
  const file = new URL('../../docs/gateway.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const between = /(?<=<!-- relay-matrix -->\n).*?(?=<!-- \/relay-matrix -->)/s
  const lines = Object.keys(ROWS).map((row) => [
    row,
    ...TITLES.map((title) => outcomes.get(`${row} ${title}`)),
  ])
  const table = [['Message', ...TITLES], ['---', ...TITLES.map(() => '---')], ...lines]
  const text = `\n${table.map((cells) => `| ${cells.join(' | ')} |\n`).join('')}\n`
  expect(outcomes.size).toBe(Object.keys(ROWS).length * COLUMNS.length)
  expect(Object.fromEntries(outcomes)).toMatchObject(Object.fromEntries(atOneServer))
  if (process.env.UPDATE === '1') writeFileSync(file, page.replace(between, text))
  else expect(between.exec(page)?.[0]).toBe(text)
})
