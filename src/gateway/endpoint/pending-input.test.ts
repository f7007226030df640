import { describe, expect, onTestFinished, test } from 'vitest'
import { openAsking } from '../../../test/fixtures/http/asking.ts'
import {
  askModern,
  type Exchange,
  LegacyAgent,
  type Message,
  textIn,
} from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'
import { PendingInputs } from './pending-input.ts'

const ASKABLE = { elicitation: {}, sampling: {} }
const ask = { name: 'ask', arguments: {} }
const accept = (name: string) => ({ action: 'accept', content: { name } })

async function furnished(more: object = {}) {
  const house = await openHouse()
  await register(house, 'patient', [], more)
  await post(house, '/api/servers/patient/start')
  const key = await newKey(house)
  const place = { address: house.address, key, path: '/mcp/patient' }
  const watcher = await LegacyAgent.open({ ...place, key: await newKey(house, 'codex') })
  const cancelled = () => watcher.call('cancelled').answered().then(textIn)
  return { house, place, cancelled }
}

type Place = Awaited<ReturnType<typeof furnished>>['place']

/** As often as it is asked, with a new id each time. */
class Asked {
  readonly #place: Place
  readonly #method: string
  readonly #params: Readonly<Record<string, unknown>>
  readonly #capabilities: object
  #id = 0

  constructor(place: Place, params: object, method = 'tools/call', capabilities: object = ASKABLE) {
    this.#place = place
    this.#method = method
    this.#params = { ...params }
    this.#capabilities = capabilities
  }

  send(more: object = {}, place = this.#place, progressToken?: number): Exchange {
    this.#id += 1
    return askModern(
      place,
      this.#method,
      { ...this.#params, ...more },
      {
        id: this.#id,
        capabilities: this.#capabilities,
        ...(progressToken !== undefined && { progressToken }),
      },
    )
  }

  async answer(more: object = {}, place = this.#place): Promise<Message> {
    const exchange = this.send(more, place)
    const id = this.#id
    const answer = await exchange.answered()
    expect(answer.id).toBe(id)
    return answer
  }
}

const stateOf = ({ result }: Message): string => String(result?.requestState)
const said = (answer: Message): unknown => JSON.parse(textIn(answer))

describe('a modern agent and a server of the old days that asks', () => {
  test('the question is the answer, and the next request brings what was said to it', async () => {
    const { place, cancelled } = await furnished()
    const asked = new Asked(place, ask)
    const first = await asked.answer()
    expect(first.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        1: { method: 'elicitation/create', params: expect.objectContaining({ message: 'question 1' }) },
      },
      requestState: expect.any(String),
    })
    const last = await asked.answer({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(last.result).toMatchObject({ resultType: 'complete' })
    expect(said(last)).toEqual([accept('me')])
    expect(await cancelled()).toBe('0')
  })

  test('a server may ask again, and a request without an answer is asked once more', async () => {
    const { place } = await furnished()
    const asked = new Asked(place, { ...ask, arguments: { questions: 3 } })
    let answer = await asked.answer()
    for (const name of ['one', 'two', 'three']) {
      const again = await asked.answer({ requestState: stateOf(answer) })
      expect(again.result?.inputRequests).toEqual(answer.result?.inputRequests)
      answer = await asked.answer({ inputResponses: { 1: accept(name) }, requestState: stateOf(again) })
    }
    expect(said(answer)).toEqual(['one', 'two', 'three'].map(accept))
  })

  test('two questions at once are asked one after the other', async () => {
    const { place } = await furnished()
    const asked = new Asked(place, { name: 'ask_at_once', arguments: {} })
    let answer = await asked.answer()
    for (const name of ['one', 'two'])
      answer = await asked.answer({ inputResponses: { 1: accept(name) }, requestState: stateOf(answer) })
    expect(said(answer)).toEqual(['one', 'two'].map(accept))
  })

  test.each([
    ['prompts/get', { name: 'asks' }],
    ['resources/read', { uri: 'patient://asks' }],
  ])('%s may be answered with a question as well', async (method, params) => {
    const { place } = await furnished()
    const asked = new Asked(place, params, method)
    const first = await asked.answer()
    const last = await asked.answer({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(JSON.stringify(last.result)).toContain('accept')
  })

  test('how far it is goes with the token of the request that waits', async () => {
    const { place } = await furnished()
    const asked = new Asked(place, { ...ask, arguments: { questions: 2 } })
    const first = asked.send({}, place, 0)
    const { messages } = first
    const requestState = stateOf(await first.answered())
    expect(messages[0]?.params).toMatchObject({ progressToken: 0, progress: 1 })
    const second = asked.send({ inputResponses: { 1: accept('one') }, requestState }, place, 7)
    await second.answered()
    expect(second.messages[0]?.params).toMatchObject({ progressToken: 7, progress: 2 })
  })

  test('an agent that has not said it can be asked is not, and the server hears so', async () => {
    const { place } = await furnished()
    const refused = {
      refused: { code: -32601, message: expect.stringContaining('The client does not support') },
    }
    const nothing = new Asked(place, ask, 'tools/call', {})
    expect(said(await nothing.answer())).toEqual([refused])
    const other = new Asked(place, { name: 'sample', arguments: {} }, 'tools/call', { elicitation: {} })
    expect(said(await other.answer())).toEqual(refused)
  })

  test('the time of the server stands still while the agent is asked, and only then', async () => {
    const { place } = await furnished({ timeouts: { start_s: 10, request_s: 1, stop_s: 1 } })
    const asked = new Asked(place, ask)
    const first = await asked.answer()
    await new Promise((resolve) => setTimeout(resolve, 2500)) // a person thinks
    const last = await asked.answer({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(said(last)).toEqual([accept('me')])
    const slow = await new Asked(place, { name: 'hold', arguments: {} }).answer()
    expect(slow.error?.message).toContain('not answered in time')
  })

  test.each(['streamable', 'sse'] as const)('an HTTP server asks in the same way, over %s', async (over) => {
    const house = await openHouse()
    const server = await openAsking({ over })
    onTestFinished(() => void server.close())
    await post(house, '/api/http-servers', { name: 'asking', url: server.url })
    await post(house, '/api/http-servers/asking/tools/unknown/call', {}) // whoever is called is connected to
    const place = { address: house.address, key: await newKey(house), path: '/mcp/asking' }
    const asked = new Asked(place, { name: 'ask', arguments: { kind: 'elicitation' } })
    const first = await asked.answer()
    const last = await asked.answer({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(said(last)).toEqual(accept('me'))
  })
})

describe('a requestState', () => {
  test('counts once, for its agent and its request, and whoever tries otherwise changes nothing', async () => {
    const { house, place } = await furnished()
    const asked = new Asked(place, ask)
    const requestState = stateOf(await asked.answer())
    const inputResponses = { 1: accept('me') }
    const [head = '', body = '', seal = ''] = requestState.split('.')
    const turned = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`)
    const wrong = [
      asked.answer({ inputResponses, requestState: `${head}.${turned(body)}.${seal}` }),
      asked.answer({ inputResponses, requestState: `${head}.${body}.${turned(seal)}` }),
      asked.answer({ inputResponses, requestState: `${head}.${body}` }),
      asked.answer({ inputResponses, requestState: 'anything' }),
      asked.answer({ inputResponses, requestState, arguments: { questions: 2 } }),
      asked.answer({ inputResponses, requestState }, { ...place, key: await newKey(house, 'gemini') }),
    ]
    for (const { error } of await Promise.all(wrong))
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('requestState') })
    expect(said(await asked.answer({ inputResponses, requestState }))).toEqual([accept('me')])
    const again = await asked.answer({ inputResponses, requestState })
    expect(again.error).toMatchObject({ code: -32602, message: expect.stringContaining('used already') })
  })

  test('is the same for the same request in another order of its keys', () => {
    const parking = new PendingInputs({ now: () => 0 })
    const place = { keyId: 'k', serverId: undefined }
    const message = (params: object) => ({
      id: 0,
      method: 'tools/call',
      params: { ...params },
      body: Buffer.from(''),
      response: {},
    })
    const call = { place, cancel: () => {} }
    const requestState = parking.add(call, message({ name: 't', arguments: { a: 1, b: [{ c: 2, d: 3 }] } }))
    const again = message({ arguments: { b: [{ d: 3, c: 2 }], a: 1 }, requestState, name: 't' })
    expect(parking.take(again, place)).toBe(call)
    expect(() => parking.take(again, place)).toThrow('used already')
  })
})

describe('a call that is parked', () => {
  test('outlives the connection over which the question went', async () => {
    const { place, cancelled } = await furnished()
    const asked = new Asked(place, ask)
    const first = asked.send()
    const question = await first.answered()
    first.break()
    await first.over()
    expect(await cancelled()).toBe('0')
    const last = await asked.answer({ inputResponses: { 1: accept('me') }, requestState: stateOf(question) })
    expect(said(last)).toEqual([accept('me')])
  })

  test('is cancelled when its key is taken away', async () => {
    const { house, place, cancelled } = await furnished()
    await new Asked(place, ask).answer()
    const { items } = (await house.inject({ url: '/api/keys', headers: AUTHORISED })).json()
    const own = items.find(({ agent_type }: { agent_type: string }) => agent_type === 'cursor')
    await house.inject({ method: 'DELETE', url: `/api/keys/${own.id}`, headers: AUTHORISED })
    await expect.poll(cancelled).toBe('1')
  })

  test('is cancelled when the agent that brought the answer hangs up', async () => {
    const { place, cancelled } = await furnished()
    const asked = new Asked(place, { ...ask, arguments: { pause: 60_000 } })
    const requestState = stateOf(await asked.answer())
    const second = asked.send({ inputResponses: { 1: accept('me') }, requestState })
    await expect
      .poll(async () => (await asked.answer({ requestState })).error?.message)
      .toContain('used already')
    second.break()
    await expect.poll(cancelled).toBe('1')
  })

  test('waits for a while, and not for ever', async () => {
    let now = 0
    let cancelled = 0
    const parking = new PendingInputs({ now: () => now, waitMs: 20 })
    const place = { keyId: 'k', serverId: undefined }
    const message = { id: 0, method: 'tools/call', params: {}, body: Buffer.from(''), response: {} }
    const call = {
      place,
      cancel: () => {
        cancelled += 1
      },
    }
    const requestState = parking.add(call, message)
    await expect.poll(() => cancelled).toBe(1)
    now = 21
    expect(() => parking.take({ ...message, params: { requestState } }, place)).toThrow(
      'This requestState has expired',
    )
  })

  test('is one of at most a hundred of its agent', () => {
    const parking = new PendingInputs({ now: () => 0 })
    const message = { id: 0, method: 'tools/call', params: {}, body: Buffer.from(''), response: {} }
    const callOf = (keyId: string) => ({ place: { keyId, serverId: undefined }, cancel: () => {} })
    const calls = Array.from({ length: 101 }, () => callOf('k'))
    expect(calls.filter((call) => parking.add(call, message) !== undefined)).toHaveLength(100)
    expect(parking.add(callOf('other'), message)).toBeDefined()
    for (const call of calls) parking.remove(call)
    expect(parking.add(callOf('k'), message)).toBeDefined()
  })
})
