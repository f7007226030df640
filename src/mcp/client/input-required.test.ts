import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../../test/conformance/pipe.mjs'
import { answers, failureOf } from '../../../test/support/connected-peer.ts'
import { startInGroup } from '../../../test/support/marked-processes.ts'
import { connectedTo, textOf } from '../../../test/support/remote.ts'
import type { OnServerRequest, TimedCallOptions } from '../protocol/call-options.ts'
import { CallResult } from '../protocol/json-rpc-message.ts'
import { StdioClient } from '../transports/stdio/stdio-client.ts'
import type { McpClient } from './mcp-client.ts'
import { requestComplete } from './modern-requests.ts'

const META = 'io.modelcontextprotocol'
const patient = { timeoutMs: 60_000 }
const CAN = { sampling: {}, elicitation: {}, roots: {} }
const fixture = fileURLToPath(new URL('../../../test/fixtures/servers/conformance.mjs', import.meta.url))

type Client = Pick<McpClient, 'call' | 'relay'>

async function overStdio(): Promise<Client> {
  const child = await startInGroup({ path: process.execPath, args: [fixture] })
  await answers(child)
  const silent = { onStrayLine: () => {}, onTools: () => {} }
  const known = { version: '0', startMs: 60_000, knownVersion: '2026-07-28' }
  const connection = new StdioClient({ input: child.input, output: child.output, ...known, ...silent })
  await connection.ready()
  expect(connection.handshake?.era).toBe('modern')
  return connection
}

async function overHttp(): Promise<Client> {
  const pipe = await startPipe()
  onTestFinished(() => pipe.close())
  const { connection } = await connectedTo(pipe.url)
  expect(connection.handshake?.era).toBe('modern')
  return connection
}

/** Call options of a legacy caller that answers every request of the server, and the requests it received. */
function legacyCaller() {
  const received: string[] = []
  const onServerRequest: OnServerRequest = async (method, params) => {
    const { message } = params as { message?: string }
    received.push(message ?? method)
    if (method === 'sampling/createMessage')
      return { role: 'assistant', content: { type: 'text', text: 'Hi' } }
    return { action: 'accept', content: message?.includes('color') ? { color: 'blue' } : { name: 'first' } }
  }
  return { received, options: { ...patient, onServerRequest, capabilities: CAN } satisfies TimedCallOptions }
}

describe.each([
  ['stdio', overStdio],
  ['HTTP', overHttp],
])('a modern server over %s', (_, connect) => {
  test('a modern server gets its input from a legacy caller, round by round, together with its own state', async () => {
    const server = await connect()
    const { received, options } = legacyCaller()
    const call = async (tool: string) => textOf(await server.call(tool, {}, options))
    expect(await call('test_input_required_result_elicitation')).toBe('Hello, first!')
    expect(await call('test_input_required_result_multi_round')).toBe('first likes blue')
    expect(await call('test_input_required_result_request_state')).toBe('state-ok')
    expect(received).toEqual([
      'What is your name?',
      'Step 1: What is your name?',
      'Step 2: What is your favorite color?',
      'Please confirm',
    ])
  })

  test('a modern server receives the capabilities of its caller', async () => {
    const server = await connect()
    const { options } = legacyCaller()
    const tool = 'test_input_required_result_capabilities'
    const answered = async (capabilities: Readonly<Record<string, unknown>>) =>
      textOf(await server.call(tool, {}, { ...options, capabilities }))
    expect(await answered({ elicitation: {} })).toBe('Answered: user_name')
    expect(await answered(CAN)).toBe('Answered: user_name, greeting, client_roots')
    await expect(server.call('test_sampling', { prompt: 'x' }, patient)).rejects.toMatchObject({
      remote: { code: -32021 },
    })
  })

  test('a call that requires input fails when the caller does not support the request or rejects it', async () => {
    const server = await connect()
    const tool = 'test_input_required_result_elicitation'
    await expect(server.call(tool, {}, { ...patient, capabilities: CAN })).rejects.toMatchObject({
      reason: 'remote',
      message: 'tools/call requires elicitation/create, which the client does not support',
    })
    const onServerRequest = () => Promise.reject(new Error('The person said no'))
    await expect(
      server.call(tool, {}, { ...patient, capabilities: CAN, onServerRequest }),
    ).rejects.toMatchObject({
      reason: 'remote',
      message: expect.stringContaining('The person said no'),
    })
  })

  test('the timeout of a call is suspended while the caller answers, as for a legacy server', async () => {
    const server = await connect()
    const timeoutMs = 3000
    const onServerRequest = () => sleep(2 * timeoutMs, { action: 'accept', content: { name: 'late' } })
    const options = { capabilities: CAN, onServerRequest, timeoutMs }
    const result = await server.call('test_input_required_result_elicitation', {}, options)
    expect(textOf(result)).toBe('Hello, late!')
  })

  test('a call that waits for input ends when it is cancelled', async () => {
    const server = await connect()
    const tool = 'test_input_required_result_elicitation'
    const never = new Promise(() => {})
    const options = { ...patient, capabilities: CAN, onServerRequest: () => never }
    const cancel = new AbortController()
    const onServerRequest = () => {
      cancel.abort()
      return never
    }
    const call = server.call(
      tool,
      {},
      { ...options, onServerRequest, timeoutMs: 60_000, signal: cancel.signal },
    )
    expect(await failureOf(call)).toBe('cancelled')
  })

  test('requests and input_required results pass unchanged between a modern agent and a modern server', async () => {
    const server = await connect()
    const _meta = {
      [`${META}/protocolVersion`]: '2026-07-28',
      [`${META}/clientCapabilities`]: { elicitation: {} },
      [`${META}/clientInfo`]: { name: 'agent', version: '1' },
    }
    const name = 'test_input_required_result_elicitation'
    const onServerRequest = () => expect.unreachable('the agent repeats the call itself')
    const call = (modern: { requestState?: string; inputResponses?: object }) => {
      const modernParams = {
        requestState: modern.requestState,
        raw: () => ({ name, arguments: {}, _meta, ...modern }),
      }
      return server.call(name, {}, { ...patient, onServerRequest, modernParams })
    }
    const { value } = await call({})
    expect(value).toMatchObject({
      resultType: 'input_required',
      inputRequests: { user_name: { method: 'elicitation/create' } },
    })
    const { requestState } = value as { requestState: string }
    const inputResponses = { user_name: { action: 'accept', content: { name: 'second' } } }
    expect(textOf(await call({ inputResponses, requestState }))).toBe('Hello, second!')
    await expect(call({ inputResponses, requestState: `${requestState}x` })).rejects.toMatchObject({
      remote: { code: -32602 },
    })
  })

  test('a legacy caller receives the progress of a modern server', async () => {
    const server = await connect()
    const received: unknown[] = []
    const onProgress = ({ progress }: Readonly<Record<string, unknown>>) => received.push(progress)
    await server.call('test_tool_with_progress', {}, { ...patient, onProgress })
    expect(received).toEqual([0, 50, 100])
  })
})

test('a call whose input is never answered ends after the limit for all its answers', async () => {
  const value = {
    resultType: 'input_required',
    inputRequests: { a: { method: 'elicitation/create', params: {} } },
  }
  const requestRaw = async () => CallResult.of(value)
  const requester = { requestRaw, request: () => expect.unreachable() }
  const options = { timeoutMs: 60_000, onServerRequest: () => new Promise(() => {}) }
  expect(await failureOf(requestComplete(requester, 'tools/call', {}, options, 300))).toBe('timeout')
})

test('a call that always requires more input fails after ten rounds', async () => {
  let requests = 0
  const value = { resultType: 'input_required', requestState: 's' }
  const requestRaw = async () => {
    requests += 1
    return CallResult.of(value)
  }
  const requester = { requestRaw, request: () => expect.unreachable() }
  await expect(requestComplete(requester, 'tools/call', {}, patient)).rejects.toMatchObject({
    reason: 'remote',
    message: 'tools/call still required input after 10 rounds',
  })
  expect(requests).toBe(11)
})
