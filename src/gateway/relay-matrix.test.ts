import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Message, textIn } from '../../test/support/event-streams.ts'
import { COLUMNS, notesIn, openRelay, quiet, type Relay, titleOf } from '../../test/support/relay.ts'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const FROM_ERROR = ['error', 'critical', 'alert', 'emergency']
const URI = 'relay://one'
const CANNOT = 'The client does not support elicitation/create'

/** ✓ where the message crosses. Where it does not, the words for what happens instead, which is tested the same. */
type Outcome = '✓' | (string & {})
type Cell = (relay: Relay) => Promise<Outcome>

const ROWS: Readonly<Record<string, Cell>> = {
  '`tools/call`': async ({ agent, call }) => {
    const answer = await call('echo', { text: 'größe 🎈' }).answered()
    expect(textIn(answer)).toBe('größe 🎈')
    if (agent === 'modern') expect(answer.result).toMatchObject({ resultType: 'complete' })
    return '✓'
  },

  'progress notifications': async ({ call }) => {
    const counting = call('count', {}, { progressToken: 0 })
    expect(textIn(await counting.answered())).toBe('counted')
    expect(notesIn(counting.messages, 'progress')).toEqual([
      { progressToken: 0, progress: 1, total: 2 },
      { progressToken: 0, progress: 2, total: 2 },
    ])
    return '✓'
  },

  '`tools/list_changed`': async ({ ask, call, listen, named }) => {
    const stream = await listen({ toolsListChanged: true })
    await quiet(stream)
    const told = () => notesIn(stream.messages, 'tools/list_changed').length
    const before = told()
    // A server is listened to in the background, and nothing says from when on.
    await expect
      .poll(async () => (await call('grow').answered()) && told(), { timeout: 5000 })
      .toBeGreaterThan(before)
    const { result } = await ask('tools/list').answered()
    expect(result?.tools).toContainEqual(expect.objectContaining({ name: named('late_1') }))
    return '✓'
  },

  '`prompts/get`': async ({ ask, named }) => {
    const greet = { name: named('greet'), arguments: { who: 'you' } }
    const { result } = await ask('prompts/get', greet).answered()
    expect(result?.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello you' } }])
    return '✓'
  },

  '`resources/read`': async ({ ask }) => {
    const { result } = await ask('resources/read', { uri: URI }).answered()
    expect(result?.contents).toEqual([{ uri: URI, text: `the text of ${URI}` }])
    return '✓'
  },

  '`completion/complete`': async ({ ask, named }) => {
    const ref = { type: 'ref/prompt', name: named('greet') }
    const argument = { name: 'who', value: 'Wash' }
    const { result } = await ask('completion/complete', { ref, argument }).answered()
    expect(result?.completion).toEqual({ values: ['greet: Washington'], hasMore: false })
    return '✓'
  },

  'log messages': async (relay) => {
    const said = relay.agent === 'legacy' ? await loggedToSession(relay) : await loggedToRequest(relay)
    const logger = relay.named('') === '' ? 'desk' : 'relay/desk'
    expect(said).toMatchObject(FROM_ERROR.map((level) => ({ level, logger, data: { said: level } })))
    return '✓'
  },

  '`resources/updated`': async ({ agent, ask, call, listen }) => {
    const stream = await listen({ resourceSubscriptions: [URI] })
    if (agent === 'legacy')
      expect(await ask('resources/subscribe', { uri: URI }).answered()).toHaveProperty('result')
    const told = () => notesIn(stream.messages, 'resources/updated').map(({ uri }) => uri)
    await expect
      .poll(async () => (await call('touch', { uri: URI }).answered()) && told(), { timeout: 5000 })
      .toContain(URI)
    return '✓'
  },

  'elicitation during a call': (relay) => {
    const answer = { action: 'accept', content: { name: 'somebody' } }
    return asked(relay, 'elicit', 'elicitation/create', { message: 'Who?' }, answer)
  },

  'sampling during a call': (relay) => {
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Because' } }
    return asked(relay, 'sample', 'sampling/createMessage', { maxTokens: 5 }, answer)
  },

  /** What Toolroom shows of itself to a server has no roots, whatever the agent has. */
  '`roots/list` during a call': async (relay) => {
    const { agent, server, call } = relay
    if (agent === 'modern' && server === 'modern')
      return asked(relay, 'roots', 'roots/list', {}, { roots: [{ uri: 'file:///somewhere' }] })
    const answer = await call('roots').answered()
    if (server === 'legacy') {
      expect(JSON.parse(textIn(answer))).toEqual({ roots: [] })
      return 'Toolroom returns an empty list'
    }
    expect(answer.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { roots: {} } } })
    return 'not declared: -32021'
  },

  'request to an agent without the capability': async ({ server, unable }) => {
    const { call } = await unable()
    const answer = await call('elicit').answered()
    if (server === 'legacy') {
      expect(JSON.parse(textIn(answer))).toEqual({ refused: { code: -32601, message: CANNOT } })
      return 'the server gets -32601'
    }
    const data = { requiredCapabilities: { elicitation: {} } }
    expect(answer.error).toEqual({ code: -32021, message: 'The client cannot be asked', data })
    return "the server's own -32021"
  },

  cancellation: async (relay) => {
    const holding = await held(relay)
    if (relay.agent === 'modern') holding.break()
    else relay.tell({ method: 'notifications/cancelled', params: { requestId: holding.requestId } })
    await expect.poll(relay.asked, { timeout: 5000 }).toMatchObject({ cancelled: 1, held: 0 })
    return '✓'
  },

  'closing the connection': async (relay) => {
    const holding = await held(relay)
    holding.break()
    await holding.over()
    if (relay.agent === 'modern') {
      await expect.poll(relay.asked, { timeout: 5000 }).toMatchObject({ cancelled: 1, held: 0 })
      return 'cancels the call'
    }
    // Whoever would have been told of it has been told before these are answered.
    for (const text of ['a', 'b']) expect(textIn(await relay.call('echo', { text }).answered())).toBe(text)
    expect(await relay.asked()).toMatchObject({ cancelled: 0, held: 1 })
    return 'the call continues'
  },

  'error code, message and data': async ({ call }) => {
    const { error } = await call('fail').answered()
    const data = { shelf: 7, keys: [null, 'ß'] }
    expect(error).toEqual({ code: 4711, message: 'The shelf is locked', data })
    return '✓'
  },

  'unknown result fields': async ({ call }) => {
    const { result } = await call('odd').answered()
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'odd', x_inner: 1 }],
      x_outer: { deep: [1.5, null, 'ß'] },
    })
    return '✓'
  },
}

/** A session says once from which level on it wants to hear, and hears it wherever it listens. */
async function loggedToSession({ ask, asked, call, listen, server }: Relay) {
  const stream = await listen({})
  expect(await ask('logging/setLevel', { level: 'error' }).answered()).toHaveProperty('result')
  if (server === 'legacy') await expect.poll(async () => (await asked()).level).toBe('error')
  const logging = call('log')
  await logging.answered()
  const said = () => notesIn([...stream.messages, ...logging.messages], 'message')
  await expect.poll(() => said().length).toBeGreaterThanOrEqual(FROM_ERROR.length)
  return said()
}

/** A request says it for itself, and its server knows before it gets it. */
async function loggedToRequest({ call }: Relay) {
  await call('echo', { text: '' }).answered() // the very first request waits for the question of the era
  const logging = call('log', {}, { [LOG_LEVEL]: 'error' })
  await logging.answered()
  return notesIn(logging.messages, 'message')
}

/** The server asks while it works on a call: the question crosses, and the answer to it. */
async function asked(
  relay: Relay,
  tool: string,
  method: string,
  question: object,
  answer: object,
): Promise<'✓'> {
  const asking = relay.call(tool)
  const last = relay.agent === 'legacy' ? inBetween() : again()
  expect(JSON.parse(textIn(await last))).toEqual(answer)
  return '✓'

  async function inBetween(): Promise<Message> {
    const found = () => asking.messages.find((each) => each.method === method)
    await expect.poll(found, { timeout: 5000 }).toMatchObject({ params: question })
    relay.tell({ id: found()?.id, result: answer })
    return asking.answered()
  }

  async function again(): Promise<Message> {
    const { result } = await asking.answered()
    expect(result).toMatchObject({ resultType: 'input_required' })
    const { inputRequests = {}, requestState } = result ?? {}
    const entries = Object.entries(inputRequests as Record<string, Message>)
    expect(entries.map(([, each]) => each)).toMatchObject([{ method, params: question }])
    const inputResponses = Object.fromEntries(entries.map(([key]) => [key, answer]))
    const params = { name: relay.named(tool), arguments: {}, inputResponses, requestState }
    return relay.ask('tools/call', params).answered()
  }
}

/** A call that the server has begun, and will not answer. */
async function held(relay: Relay) {
  const holding = relay.call('hold')
  await expect.poll(async () => (await relay.asked()).held, { timeout: 5000 }).toBe(1)
  return holding
}

const TITLES = COLUMNS.map(titleOf)
const columns = COLUMNS.map((column) => [titleOf(column), column] as const)
const outcomes = new Map<string, Outcome>()
const alone = new Map<string, Outcome>()

/** Those that wait, or count, have a house of their own, and only where all servers are together. */
const OWN_HOUSE = /list_changed|cancellation|closing/
const together = Object.entries(ROWS).filter(([row]) => !OWN_HOUSE.test(row))
const apart = Object.entries(ROWS).filter(([row]) => OWN_HOUSE.test(row))

async function seen(relay: Relay, title: string, kept: Map<string, Outcome>): Promise<void> {
  for (const [row, cell] of together) {
    const outcome = await cell(relay).catch((cause: unknown) => {
      throw new Error(`${row} is not as the table says`, { cause })
    })
    kept.set(`${row} ${title}`, outcome)
  }
}

describe.each(columns)('%s', (title, column) => {
  test('what crosses is as the table says', async () => seen(await openRelay(column), title, outcomes))

  test('at the path of one server it is the same', async () =>
    seen(await openRelay(column, '/mcp/relay'), title, alone))

  test.each(apart)('%s: as the table says', async (row, cell) => {
    outcomes.set(`${row} ${title}`, await cell(await openRelay(column)))
  })
})

/** UPDATE=1 writes it. */
test('the table in docs/gateway.md is what was seen, at both paths', () => {
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
  expect(Object.fromEntries(outcomes)).toMatchObject(Object.fromEntries(alone))
  if (process.env.UPDATE === '1') writeFileSync(file, page.replace(between, text))
  else expect(between.exec(page)?.[0]).toBe(text)
})
