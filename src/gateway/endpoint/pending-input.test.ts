import { describe, expect, onTestFinished, test } from 'vitest'
import { openAsking } from '../../../test/fixtures/http/asking.ts'
import {
  type Endpoint,
  type Exchange,
  LegacyAgent,
  type Message,
  modernRequest,
  textIn,
} from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { PendingInputs } from './pending-input.ts'

const CAPABILITIES = { elicitation: {}, sampling: {} }
const ASK = { name: 'ask', arguments: {} }
const accept = (name: string) => ({ action: 'accept', content: { name } })

async function setUp(more: object = {}) {
  const service = await openTestService()
  await register(service, 'patient', [], more)
  await post(service, '/api/servers/patient/start')
  const key = await newKey(service)
  const endpoint = { address: service.address, key, path: '/mcp/patient' }
  const observer = await LegacyAgent.open({ ...endpoint, key: await newKey(service, 'codex') })
  const cancelled = () => observer.call('cancelled').responded().then(textIn)
  return { service, endpoint, cancelled }
}

/** A request that is sent several times, each time with a new id. */
class RetriedRequest {
  readonly #endpoint: Endpoint
  readonly #method: string
  readonly #params: Readonly<Record<string, unknown>>
  readonly #capabilities: object
  #id = 0

  constructor(
    endpoint: Endpoint,
    params: object,
    method = 'tools/call',
    capabilities: object = CAPABILITIES,
  ) {
    this.#endpoint = endpoint
    this.#method = method
    this.#params = { ...params }
    this.#capabilities = capabilities
  }

  send(more: object = {}, endpoint = this.#endpoint, progressToken?: number): Exchange {
    this.#id += 1
    return modernRequest(
      endpoint,
      this.#method,
      { ...this.#params, ...more },
      {
        id: this.#id,
        capabilities: this.#capabilities,
        ...(progressToken !== undefined && { progressToken }),
      },
    )
  }

  async response(more: object = {}, endpoint = this.#endpoint): Promise<Message> {
    const exchange = this.send(more, endpoint)
    const id = this.#id
    const response = await exchange.responded()
    expect(response.id).toBe(id)
    return response
  }
}

const stateOf = ({ result }: Message): string => String(result?.requestState)
const textJson = (response: Message): unknown => JSON.parse(textIn(response))

describe('requests of a legacy server to a modern agent', () => {
  test('a server request reaches a modern agent as input_required, and the next request carries the answer', async () => {
    const { endpoint, cancelled } = await setUp()
    const request = new RetriedRequest(endpoint, ASK)
    const first = await request.response()
    expect(first.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        1: { method: 'elicitation/create', params: expect.objectContaining({ message: 'question 1' }) },
      },
      requestState: expect.any(String),
    })
    const last = await request.response({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(last.result).toMatchObject({ resultType: 'complete' })
    expect(textJson(last)).toEqual([accept('me')])
    expect(await cancelled()).toBe('0')
  })

  test('a server can require input several times, and a retry without an answer gets the same input request again', async () => {
    const { endpoint } = await setUp()
    const request = new RetriedRequest(endpoint, { ...ASK, arguments: { questions: 3 } })
    let response = await request.response()
    for (const name of ['one', 'two', 'three']) {
      const again = await request.response({ requestState: stateOf(response) })
      expect(again.result?.inputRequests).toEqual(response.result?.inputRequests)
      response = await request.response({ inputResponses: { 1: accept(name) }, requestState: stateOf(again) })
    }
    expect(textJson(response)).toEqual(['one', 'two', 'three'].map(accept))
  })

  test('two simultaneous requests of a server reach a modern agent one after the other', async () => {
    const { endpoint } = await setUp()
    const request = new RetriedRequest(endpoint, { name: 'ask_at_once', arguments: {} })
    let response = await request.response()
    for (const name of ['one', 'two'])
      response = await request.response({
        inputResponses: { 1: accept(name) },
        requestState: stateOf(response),
      })
    expect(textJson(response)).toEqual(['one', 'two'].map(accept))
  })

  test.each([
    ['prompts/get', { name: 'asks' }],
    ['resources/read', { uri: 'patient://asks' }],
  ])('%s can be answered with input_required, too', async (method, params) => {
    const { endpoint } = await setUp()
    const request = new RetriedRequest(endpoint, params, method)
    const first = await request.response()
    const last = await request.response({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(JSON.stringify(last.result)).toContain('accept')
  })

  test('progress notifications carry the progress token of the current request', async () => {
    const { endpoint } = await setUp()
    const request = new RetriedRequest(endpoint, { ...ASK, arguments: { questions: 2 } })
    const first = request.send({}, endpoint, 0)
    const { messages } = first
    const requestState = stateOf(await first.responded())
    expect(messages[0]?.params).toMatchObject({ progressToken: 0, progress: 1 })
    const second = request.send({ inputResponses: { 1: accept('one') }, requestState }, endpoint, 7)
    await second.responded()
    expect(second.messages[0]?.params).toMatchObject({ progressToken: 7, progress: 2 })
  })

  test.each([
    { sent: 2, kept: [2, 3] },
    { sent: 30, kept: Array.from({ length: 20 }, (_, n) => n + 2) },
  ])(
    'of $sent progress notifications during a question the first 20 are sent with the response to the next request',
    async ({ sent, kept }) => {
      const { endpoint } = await setUp()
      const request = new RetriedRequest(endpoint, { ...ASK, arguments: { meanwhile: sent } })
      const first = request.send({}, endpoint, 0)
      const requestState = stateOf(await first.responded())
      expect(first.messages[0]?.params).toMatchObject({ progress: 1 })
      const second = request.send({ inputResponses: { 1: accept('me') }, requestState }, endpoint, 7)
      expect(textJson(await second.responded())).toEqual([accept('me')])
      const progress = second.messages.flatMap(({ params }) => (params ? [params] : []))
      expect(progress).toEqual(kept.map((each) => ({ progressToken: 7, progress: each })))
    },
  )

  test('a server request is refused when the modern agent has not declared the capability', async () => {
    const { endpoint } = await setUp()
    const refused = {
      refused: { code: -32601, message: expect.stringContaining('The client does not support') },
    }
    const withoutCapabilities = new RetriedRequest(endpoint, ASK, 'tools/call', {})
    expect(textJson(await withoutCapabilities.response())).toEqual([refused])
    const withoutSampling = new RetriedRequest(endpoint, { name: 'sample', arguments: {} }, 'tools/call', {
      elicitation: {},
    })
    expect(textJson(await withoutSampling.response())).toEqual(refused)
  })

  test('the request timeout of a server is paused only while the agent has to answer', async () => {
    const { endpoint } = await setUp({ timeouts: { start_s: 60, request_s: 1, stop_s: 1 } })
    const request = new RetriedRequest(endpoint, ASK)
    const first = await request.response()
    await new Promise((resolve) => setTimeout(resolve, 2500)) // longer than request_s
    const last = await request.response({ inputResponses: { 1: accept('me') }, requestState: stateOf(first) })
    expect(textJson(last)).toEqual([accept('me')])
    const slow = await new RetriedRequest(endpoint, { name: 'hold', arguments: {} }).response()
    expect(slow.error?.message).toContain('not answered in time')
  })

  test.each(['streamable', 'sse'] as const)(
    'a request of an HTTP server reaches a modern agent as input_required, over %s',
    async (over) => {
      const service = await openTestService()
      const server = await openAsking({ over })
      onTestFinished(() => void server.close())
      await post(service, '/api/http-servers', { name: 'asking', url: server.url })
      await post(service, '/api/http-servers/asking/tools/unknown/call', {}) // connects to the server
      const endpoint = { address: service.address, key: await newKey(service), path: '/mcp/asking' }
      const request = new RetriedRequest(endpoint, { name: 'ask', arguments: { kind: 'elicitation' } })
      const first = await request.response()
      const last = await request.response({
        inputResponses: { 1: accept('me') },
        requestState: stateOf(first),
      })
      expect(textJson(last)).toEqual(accept('me'))
    },
  )
})

describe('requestState', () => {
  test('a requestState is valid once, only for its agent and its request, and invalid attempts do not use it up', async () => {
    const { service, endpoint } = await setUp()
    const request = new RetriedRequest(endpoint, ASK)
    const requestState = stateOf(await request.response())
    const inputResponses = { 1: accept('me') }
    const [prefix = '', content = '', signature = ''] = requestState.split('.')
    const altered = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`)
    const invalid = [
      request.response({ inputResponses, requestState: `${prefix}.${altered(content)}.${signature}` }),
      request.response({ inputResponses, requestState: `${prefix}.${content}.${altered(signature)}` }),
      request.response({ inputResponses, requestState: `${prefix}.${content}` }),
      request.response({ inputResponses, requestState: 'anything' }),
      request.response({ inputResponses, requestState, arguments: { questions: 2 } }),
      request.response(
        { inputResponses, requestState },
        { ...endpoint, key: await newKey(service, 'gemini') },
      ),
    ]
    for (const { error } of await Promise.all(invalid))
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('requestState') })
    expect(textJson(await request.response({ inputResponses, requestState }))).toEqual([accept('me')])
    const again = await request.response({ inputResponses, requestState })
    expect(again.error).toMatchObject({ code: -32602, message: expect.stringContaining('already been used') })
  })

  test('a requestState stays valid when the keys of the request have another order', () => {
    const pendingInputs = new PendingInputs(() => 0)
    const access = { keyId: 'k', agentType: 'cursor', serverId: undefined }
    const message = (params: object) => ({
      id: 0,
      method: 'tools/call',
      params: { ...params },
      body: Buffer.from(''),
      response: {},
    })
    const call = { access, cancel: () => {} }
    const requestState = pendingInputs.add(
      call,
      message({ name: 't', arguments: { a: 1, b: [{ c: 2, d: 3 }] } }),
    )
    const again = message({ arguments: { b: [{ d: 3, c: 2 }], a: 1 }, requestState, name: 't' })
    expect(pendingInputs.take(again, access)).toBe(call)
    expect(() => pendingInputs.take(again, access)).toThrow('already been used')
  })
})

describe('calls that wait for input', () => {
  test('a call that waits for input survives the connection on which the input was required', async () => {
    const { endpoint, cancelled } = await setUp()
    const request = new RetriedRequest(endpoint, ASK)
    const first = request.send()
    const inputRequired = await first.responded()
    first.disconnect()
    await first.closed()
    expect(await cancelled()).toBe('0')
    const last = await request.response({
      inputResponses: { 1: accept('me') },
      requestState: stateOf(inputRequired),
    })
    expect(textJson(last)).toEqual([accept('me')])
  })

  test('a call that waits for input is cancelled when its key is deleted', async () => {
    const { service, endpoint, cancelled } = await setUp()
    await new RetriedRequest(endpoint, ASK).response()
    const { items } = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json()
    const own = items.find(({ agent_type }: { agent_type: string }) => agent_type === 'cursor')
    await service.inject({ method: 'DELETE', url: `/api/keys/${own.id}`, headers: AUTHORISED })
    await expect.poll(cancelled).toBe('1')
  })

  test('a call is cancelled when the agent disconnects after it has sent the input', async () => {
    const { endpoint, cancelled } = await setUp()
    const request = new RetriedRequest(endpoint, { ...ASK, arguments: { pause: 60_000 } })
    const requestState = stateOf(await request.response())
    const second = request.send({ inputResponses: { 1: accept('me') }, requestState })
    await expect
      .poll(async () => (await request.response({ requestState })).error?.message)
      .toContain('already been used')
    second.disconnect()
    await expect.poll(cancelled).toBe('1')
  })

  test('a call that waits for input is cancelled after a timeout', async () => {
    let now = 0
    let cancelled = 0
    const pendingInputs = new PendingInputs(() => now, 20)
    const access = { keyId: 'k', agentType: 'cursor', serverId: undefined }
    const message = { id: 0, method: 'tools/call', params: {}, body: Buffer.from(''), response: {} }
    const call = {
      access,
      cancel: () => {
        cancelled += 1
      },
    }
    const requestState = pendingInputs.add(call, message)
    await expect.poll(() => cancelled).toBe(1)
    now = 21
    expect(() => pendingInputs.take({ ...message, params: { requestState } }, access)).toThrow(
      'This requestState has expired',
    )
  })

  test('at most 100 calls of one key can wait for input', () => {
    const pendingInputs = new PendingInputs(() => 0)
    const message = { id: 0, method: 'tools/call', params: {}, body: Buffer.from(''), response: {} }
    const callOf = (keyId: string) => ({
      access: { keyId, agentType: 'cursor', serverId: undefined },
      cancel: () => {},
    })
    const calls = Array.from({ length: 101 }, () => callOf('k'))
    expect(calls.filter((call) => pendingInputs.add(call, message) !== undefined)).toHaveLength(100)
    expect(pendingInputs.add(callOf('other'), message)).toBeDefined()
    for (const call of calls) pendingInputs.remove(call)
    expect(pendingInputs.add(callOf('k'), message)).toBeDefined()
  })
})
