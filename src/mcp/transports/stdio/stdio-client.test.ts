import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { answers, failureOf, wires } from '../../../../test/support/connected-peer.ts'
import { startInGroup } from '../../../../test/support/marked-processes.ts'
import type { ProcessGroup } from '../../../supervisor/platform/platform.ts'
import type { ToolList } from '../../client/server-lists.ts'
import { LOG_LINE_MAX_BYTES } from '../../protocol/line-splitter.ts'
import { StdioClient } from './stdio-client.ts'

const patient = { timeoutMs: 60_000 }
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/servers/${name}.mjs`, import.meta.url))

type Own = Partial<Pick<ConstructorParameters<typeof StdioClient>[0], 'startMs' | 'knownVersion' | 'clean'>>

function clientOver(
  streams: Pick<ConstructorParameters<typeof StdioClient>[0], 'input' | 'output'>,
  own: Own,
) {
  const lists: ToolList[] = []
  const strayLines: [string, number][] = []
  const client = new StdioClient({
    ...streams,
    version: '0',
    startMs: 60_000,
    onStrayLine: (text, cut) => strayLines.push([text, cut]),
    onTools: (list) => lists.push(list),
    ...own,
  })
  const names = () => lists.at(-1)?.tools.map(({ name }) => name)
  return { client, lists, strayLines, names }
}

/** A client of a real process. */
async function clientOf(
  name: string,
  args: readonly string[] = [],
  own: Own = {},
  isUp: (child: ProcessGroup) => Promise<unknown> = async () => {},
) {
  const path = process.execPath
  const child = await startInGroup({ path, args: [fixture(name), ...args] })
  await isUp(child)
  return { child, ...clientOver(child, own) }
}

/** A client whose server is simulated by the test. */
function simulated(own: Own = {}) {
  const streams = wires()
  return { ...streams, ...clientOver(streams, own) }
}

const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }
const rejection = (id: number, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

describe('legacy server', () => {
  test('a legacy server is connected, listed and called, and its results are unchanged', async () => {
    const { client, names } = await clientOf('echo')
    await client.ready()
    expect(client.handshake).toMatchObject({ era: 'legacy', protocol_version: '2025-11-25' })
    expect(names()).toContain('echo')
    const { value, bytes } = await client.call('echo', { text: '🎈' }, patient)
    expect(value).toEqual({ content: [{ type: 'text', text: '🎈' }] })
    expect(bytes.toString()).toBe('{"content":[{"type":"text","text":"🎈"}]}')
  })

  test('a server receives the _meta of the caller, and none if the caller sends none', async () => {
    const { client, say, sent } = simulated()
    const ready = client.ready()
    await say({ jsonrpc: '2.0', id: 1, result: { ...initialized, capabilities: {} } })
    await ready
    await sent()
    const calls = [client.call('a', { x: 1 }, { ...patient, meta: { progressToken: 0 } })]
    calls.push(client.call('b', undefined, patient))
    expect((await sent()).map(({ params }) => params)).toEqual([
      { name: 'a', arguments: { x: 1 }, _meta: { progressToken: 0 } },
      { name: 'b' },
    ])
    await say({ jsonrpc: '2.0', id: 2, result: 1 }, { jsonrpc: '2.0', id: 3, result: 2 })
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([1, 2])
  })

  test('invalid and unrequested responses of a server are ignored', async () => {
    const { client } = await clientOf('liar')
    await client.ready()
    const call = (tool: string, options = patient) => client.call(tool, {}, options)
    for (const tool of ['wrong_id', 'id_as_text', 'old_jsonrpc', 'batch', 'silent'])
      expect([tool, await failureOf(call(tool, { timeoutMs: 300 }))]).toEqual([tool, 'timeout'])
    for (const tool of ['both', 'neither', 'bad_error'])
      expect([tool, await failureOf(call(tool))]).toEqual([tool, 'remote'])
    expect((await call('twice')).bytes.toString()).toContain('first')
    expect((await call('null_result')).bytes.toString()).toBe('null')
    expect((await call('honest')).bytes.toString()).toContain('the truth')
  })

  test('a server that declares tools but does not support tools/list has no tools', async () => {
    const { client, say, lists } = simulated()
    const ready = client.ready()
    await say({ jsonrpc: '2.0', id: 1, result: initialized })
    await say(rejection(2, -32601, 'Method not found'))
    await ready
    expect(lists).toEqual([{ tools: [], truncated: false, duplicates: 0 }])
  })
})

describe('modern server', () => {
  test.each([
    ['that rejects initialize', null, []],
    ['that rejects initialize with another code', null, ['--code=-32022']],
    ['that is known from its last connection', '2026-07-28', ['--silent']],
  ])('a modern server %s gets modern requests', async (_, knownVersion, args) => {
    const { client, names } = await clientOf('modern', args, { knownVersion }, answers)
    await client.ready()
    expect(client.handshake).toEqual({
      era: 'modern',
      protocol_version: '2026-07-28',
      server_info: { name: 'modern', version: '1.0.0' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'Ask plainly',
    })
    expect(names()).toEqual(['echo', 'meta'])
    const meta = { traceparent: '00-1', 'io.modelcontextprotocol/clientInfo': { name: 'agent' } }
    const { value } = await client.call('meta', {}, { ...patient, meta })
    const [{ text }] = (value as { content: [{ text: string }] }).content
    expect(JSON.parse(text)).toEqual({
      ...meta,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
      },
    })
  })

  test('a change of the tools of a modern server is noticed', async () => {
    const { client, names } = await clientOf('modern', ['--mutate=50', '--end=100'])
    await client.ready()
    await expect.poll(names).toEqual(['echo', 'meta', 'late'])
    expect((await client.call('echo', { text: 'a' }, patient)).bytes.toString()).toContain('"a"')
  })
})

describe('failed start', () => {
  test('a server that writes only text to stdout times out, and the error has its first line', async () => {
    const { client } = await clientOf('not-mcp', [], { startMs: 400 }, ({ output }) =>
      once(output, 'readable'),
    )
    const error = await client.ready().catch((cause: unknown) => client.explain(cause))
    expect(client.strayLines).toBe(2)
    expect(error).toEqual({
      error: {
        code: 'start_timeout',
        message:
          'It wrote text to stdout but no MCP message within 0.4 s. First line: "➜  Local:   http://localhost:5173/"',
        hint: 'Check that the command starts an MCP server that uses the stdio transport. Logs belong on stderr, not on stdout',
        action: { kind: 'edit_command' },
      },
      retry: true,
    })
  })

  test('a server that does not answer initialize fails after start_s', async () => {
    const { client } = await clientOf('slow-handshake', ['--ms=60000'], { startMs: 300 })
    const outcome = await client.ready().catch((cause: unknown) => client.explain(cause))
    expect(outcome).toMatchObject({
      error: { code: 'start_timeout', message: 'It did not answer initialize within 0.3 s' },
      retry: true,
    })
  })

  test('a server that does not answer tools/list is ready, and has that reason, whatever it wrote before', async () => {
    const { client, say } = simulated({ startMs: 100 })
    const ready = client.ready()
    await say('banner', { jsonrpc: '2.0', id: 1, result: initialized })
    await ready
    expect(client.listError).toMatchObject({ message: 'It did not answer tools/list within 0.1 s' })
    await client.close()
  })

  test('a server that ends during tools/list is not ready', async () => {
    const { client, say, output } = simulated()
    const ready = client.ready().catch((cause: unknown) => client.explain(cause))
    await say({ jsonrpc: '2.0', id: 1, result: initialized })
    output.end()
    expect(await ready).toMatchObject({ error: { code: 'handshake_failed' }, retry: true })
  })

  test('a program that is not an MCP server is not retried', async () => {
    const { client } = await clientOf('liar', ['--initialize=invalid_result'])
    const outcome = await client.ready().catch((cause: unknown) => client.explain(cause))
    expect(outcome).toMatchObject({
      error: { code: 'not_mcp', message: 'Its response to initialize is not valid MCP' },
      retry: false,
    })
  })

  test('the error of initialize is quoted in one line', async () => {
    const { client, say } = simulated()
    const ready = client.ready().catch((cause: unknown) => client.explain(cause))
    await say(rejection(1, -32000, `\u001b[31mAPI_KEY\n is missing${'!'.repeat(1000)}`))
    await say(rejection(2, -32601, 'what?'))
    const { error, retry } = (await ready) as ReturnType<StdioClient['explain']>
    expect(error.message).toMatch(/^It rejected initialize: API_KEY {2}is missing!+$/)
    expect(error.message.length).toBeLessThan(350)
    expect([error.code, retry]).toEqual(['handshake_failed', true])
  })

  test('the error of tools/list is quoted with secrets masked until the list, which is requested again, succeeds', async () => {
    const { client, say, sent, names } = simulated({ clean: (text) => text.replace('hunter2', '***') })
    const ready = client.ready()
    await say({ jsonrpc: '2.0', id: 1, result: initialized })
    await say(rejection(2, -32603, 'no database for hunter2'))
    await ready
    expect(client.listError?.message).toBe('It rejected tools/list: no database for ***')
    await sent()
    await expect
      .poll(async () => (await sent())[0], { timeout: 5000 })
      .toMatchObject({ method: 'tools/list' })
    await say({ jsonrpc: '2.0', id: 3, result: { tools: [{ name: 'late' }] } })
    expect([client.listError, names()]).toEqual([undefined, ['late']])
    await client.close()
  })
})

describe('stray output', () => {
  test('lines that are not messages are logged, and long ones are cut with the number of missing bytes', async () => {
    const { client, say, strayLines, output } = simulated()
    void client.ready().catch(() => {}) // initialize is never answered
    await say(' ', 'short', `${'x'.repeat(LOG_LINE_MAX_BYTES - 1)}€uro`)
    for (let n = 0; n < 12; n += 1) output.write(Buffer.alloc(1024 * 1024, 'y'))
    await say('')
    expect(strayLines.slice(0, 2)).toEqual([
      [' ', 0],
      ['short', 0],
    ])
    expect(strayLines[2]?.[0]).toBe('x'.repeat(LOG_LINE_MAX_BYTES - 1))
    expect(strayLines[2]?.[1]).toBe(6)
    expect(strayLines[3]?.[0]).toHaveLength(LOG_LINE_MAX_BYTES)
    expect(strayLines[3]?.[1]).toBe(12 * 1024 * 1024 - LOG_LINE_MAX_BYTES)
    expect([client.strayLines, client.firstStrayLine]).toEqual([4, 'short'])
  })

  test('the connection is lost when the output ends, and no timer is left', async () => {
    const { child, client, lists } = await clientOf('mutate', ['--after=0'])
    await client.ready()
    await sleep(20)
    await child.closeInput()
    await client.lost
    const listed = lists.length
    await sleep(200)
    expect(lists).toHaveLength(listed)
    expect(await failureOf(client.call('stable', {}, patient))).toBe('closed')
  })
})
