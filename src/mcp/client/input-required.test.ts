import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../../test/conformance/pipe.mjs'
import { ownMark } from '../../../test/support/marked.ts'
import { failureOf } from '../../../test/support/pair.ts'
import { connectedTo, textOf } from '../../../test/support/remote.ts'
import type { OnServerRequest, TimedCallOptions } from '../../protocol/call.ts'
import { Child } from '../../supervisor/child.ts'
import { StdioClient } from '../transports/stdio/stdio-client.ts'
import { requestComplete } from './input-required.ts'
import type { McpClient } from './mcp-client.ts'

const META = 'io.modelcontextprotocol'
const patient = { timeoutMs: 5000 }
const CAN = { sampling: {}, elicitation: {}, roots: {} }
const fixture = fileURLToPath(new URL('../../../test/fixtures/servers/conformance.mjs', import.meta.url))

type Spoken = Pick<McpClient, 'call' | 'relay'>

async function overStdio(): Promise<Spoken> {
  const child = await Child.start({
    path: process.execPath,
    args: [fixture],
    cwd: undefined,
    env: {},
    mark: ownMark(),
  })
  const silent = { onStrayLine: () => {}, onTools: () => {} }
  const known = { version: '0', startMs: 5000, knownVersion: '2026-07-28' }
  const connection = new StdioClient({ input: child.input, output: child.output, ...known, ...silent })
  await connection.ready()
  expect(connection.handshake?.era).toBe('modern')
  return connection
}

async function overHttp(): Promise<Spoken> {
  const pipe = await startPipe()
  onTestFinished(() => pipe.close())
  const { connection } = await connectedTo(pipe.url)
  expect(connection.handshake?.era).toBe('modern')
  return connection
}

/** Somebody of the legacy era, who answers everything. */
function somebody() {
  const asked: string[] = []
  const onServerRequest: OnServerRequest = async (method, params) => {
    const { message } = params as { message?: string }
    asked.push(message ?? method)
    if (method === 'sampling/createMessage')
      return { role: 'assistant', content: { type: 'text', text: 'Hi' } }
    return { action: 'accept', content: message?.includes('color') ? { color: 'blue' } : { name: 'first' } }
  }
  return { asked, along: { ...patient, onServerRequest, capabilities: CAN } satisfies TimedCallOptions }
}

describe.each([
  ['stdio', overStdio],
  ['HTTP', overHttp],
])('a modern server over %s', (_, connect) => {
  test('that needs answers gets them of a legacy caller, round by round, with its own state', async () => {
    const server = await connect()
    const { asked, along } = somebody()
    const call = async (tool: string) => textOf(await server.call(tool, {}, along))
    expect(await call('test_input_required_result_elicitation')).toBe('Hello, first!')
    expect(await call('test_input_required_result_multi_round')).toBe('first likes blue')
    expect(await call('test_input_required_result_request_state')).toBe('state-ok')
    expect(asked).toEqual([
      'What is your name?',
      'Step 1: What is your name?',
      'Step 2: What is your favorite color?',
      'Please confirm',
    ])
  })

  test('learns what its caller can be asked, and only that', async () => {
    const server = await connect()
    const { along } = somebody()
    const tool = 'test_input_required_result_capabilities'
    const answered = async (capabilities: object) =>
      textOf(await server.call(tool, {}, { ...along, capabilities }))
    expect(await answered({ elicitation: {} })).toBe('Answered: user_name')
    expect(await answered(CAN)).toBe('Answered: user_name, greeting') // Toolroom does not forward roots
    await expect(server.call('test_sampling', { prompt: 'x' }, patient)).rejects.toMatchObject({
      remote: { code: -32021 },
    })
  })

  test('asks nobody who cannot be asked, and a refusal fails the call with its reason', async () => {
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

  test('waits for an answer no longer than the call may take, nor after it was cancelled', async () => {
    const server = await connect()
    const tool = 'test_input_required_result_elicitation'
    const never = new Promise(() => {})
    const along = { ...patient, capabilities: CAN, onServerRequest: () => never }
    expect(await failureOf(server.call(tool, {}, { ...along, timeoutMs: 300 }))).toBe('timeout')
    const gone = new AbortController()
    const onServerRequest = () => {
      gone.abort()
      return never
    }
    const call = server.call(tool, {}, { ...along, onServerRequest, timeoutMs: 60_000, signal: gone.signal })
    expect(await failureOf(call)).toBe('cancelled')
  })

  test('is asked by a modern agent in its own words, and its questions come back untouched', async () => {
    const server = await connect()
    const _meta = {
      [`${META}/protocolVersion`]: '2026-07-28',
      [`${META}/clientCapabilities`]: { elicitation: {} },
      [`${META}/clientInfo`]: { name: 'agent', version: '1' },
    }
    const name = 'test_input_required_result_elicitation'
    const onServerRequest = () => expect.unreachable('the agent asks again by itself')
    const ask = (modern: object) =>
      server.call(
        name,
        {},
        { ...patient, onServerRequest, modernParams: { name, arguments: {}, _meta, ...modern } },
      )
    const { value } = await ask({})
    expect(value).toMatchObject({
      resultType: 'input_required',
      inputRequests: { user_name: { method: 'elicitation/create' } },
    })
    const { requestState } = value as { requestState: string }
    const inputResponses = { user_name: { action: 'accept', content: { name: 'second' } } }
    expect(textOf(await ask({ inputResponses, requestState }))).toBe('Hello, second!')
    await expect(ask({ inputResponses, requestState: `${requestState}x` })).rejects.toMatchObject({
      remote: { code: -32602 },
    })
  })

  test('tells a legacy caller how far it is', async () => {
    const server = await connect()
    const heard: unknown[] = []
    const onProgress = ({ progress }: Readonly<Record<string, unknown>>) => heard.push(progress)
    await server.call('test_tool_with_progress', {}, { ...patient, onProgress })
    expect(heard).toEqual([0, 50, 100])
  })
})

test('a server that never stops asking is asked ten times again, and no more', async () => {
  let asked = 0
  const value = { resultType: 'input_required', requestState: 's' }
  const requestRaw = async () => {
    asked += 1
    return { value, json: Buffer.from(JSON.stringify(value)) }
  }
  const asker = { requestRaw, request: () => expect.unreachable() }
  await expect(requestComplete(asker, 'tools/call', {}, patient)).rejects.toMatchObject({
    reason: 'remote',
    message: 'tools/call still required input after 10 rounds',
  })
  expect(asked).toBe(11)
})
