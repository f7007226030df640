import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ownMark } from '../../../../test/support/marked.ts'
import { failureOf, wires } from '../../../../test/support/pair.ts'
import { LOG_LINE_MAX_BYTES } from '../../../protocol/frames.ts'
import { Child } from '../../../supervisor/child.ts'
import type { ToolList } from '../../client/tool-list.ts'
import { StdioClient } from './stdio-client.ts'

const patient = { timeoutMs: 5000 }
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/servers/${name}.mjs`, import.meta.url))

type Own = Partial<Pick<ConstructorParameters<typeof StdioClient>[0], 'startMs' | 'knownVersion'>>

function connectionOver(
  streams: Pick<ConstructorParameters<typeof StdioClient>[0], 'input' | 'output'>,
  own: Own,
) {
  const lists: ToolList[] = []
  const noise: [string, number][] = []
  const connection = new StdioClient({
    ...streams,
    version: '0',
    startMs: 5000,
    onStrayLine: (text, cut) => noise.push([text, cut]),
    onTools: (list) => lists.push(list),
    ...own,
  })
  const names = () => lists.at(-1)?.tools.map(({ name }) => name)
  return { connection, lists, noise, names }
}

/** A connection to a real process. */
async function to(name: string, args: readonly string[] = [], own: Own = {}) {
  const path = process.execPath
  const child = await Child.start({
    path,
    args: [fixture(name), ...args],
    cwd: undefined,
    env: {},
    mark: ownMark(),
  })
  return { child, ...connectionOver(child, own) }
}

/** A connection whose other end is the test. */
function wired(own: Own = {}) {
  const streams = wires()
  return { ...streams, ...connectionOver(streams, own) }
}

const hello = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} }
const refusal = (id: number, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

describe('a legacy server', () => {
  test('is greeted, listed and called, and its results come as they were written', async () => {
    const { connection, names } = await to('echo')
    await connection.ready()
    expect(connection.handshake).toMatchObject({ era: 'legacy', protocol_version: '2025-11-25' })
    expect(names()).toContain('echo')
    const { value, json } = await connection.call('echo', { text: '🎈' }, patient)
    expect(value).toEqual({ content: [{ type: 'text', text: '🎈' }] })
    expect(json.toString()).toBe('{"content":[{"type":"text","text":"🎈"}]}')
  })

  test('gets the _meta of the caller, and none where there is none', async () => {
    const { connection, say, sent } = wired()
    const ready = connection.ready()
    await say({ jsonrpc: '2.0', id: 1, result: { ...hello, capabilities: {} } })
    await ready
    await sent()
    const calls = [connection.call('a', { x: 1 }, { ...patient, meta: { progressToken: 0 } })]
    calls.push(connection.call('b', undefined, patient))
    expect((await sent()).map(({ params }) => params)).toEqual([
      { name: 'a', arguments: { x: 1 }, _meta: { progressToken: 0 } },
      { name: 'b' },
    ])
    await say({ jsonrpc: '2.0', id: 2, result: 1 }, { jsonrpc: '2.0', id: 3, result: 2 })
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([1, 2])
  })

  test('that lies is believed only where it answers what was asked', async () => {
    const { connection } = await to('liar')
    await connection.ready()
    const call = (tool: string) => connection.call(tool, {}, { timeoutMs: 300 })
    for (const tool of ['wrong_id', 'id_as_text', 'old_jsonrpc', 'batch', 'silent'])
      expect([tool, await failureOf(call(tool))]).toEqual([tool, 'timeout'])
    for (const tool of ['both', 'neither', 'bad_error'])
      expect([tool, await failureOf(call(tool))]).toEqual([tool, 'remote'])
    expect((await call('twice')).json.toString()).toContain('first')
    expect((await call('null_result')).json.toString()).toBe('null')
    expect((await call('honest')).json.toString()).toContain('the truth')
  })

  test('that declares tools and does not know the question has none', async () => {
    const { connection, say, lists } = wired()
    const ready = connection.ready()
    await say({ jsonrpc: '2.0', id: 1, result: hello })
    await say(refusal(2, -32601, 'Method not found'))
    await ready
    expect(lists).toEqual([{ tools: [], truncated: false, duplicates: 0 }])
  })
})

describe('a modern server', () => {
  test.each([
    ['', null, []],
    ['refused with another code', null, ['--code=-32022']],
    ['known from the last time', '2026-07-28', ['--silent']],
  ])('is spoken to as it wishes %s', async (_, knownVersion, args) => {
    const { connection, names } = await to('modern', args, { knownVersion })
    await connection.ready()
    expect(connection.handshake).toEqual({
      era: 'modern',
      protocol_version: '2026-07-28',
      server_info: { name: 'modern', version: '1.0.0' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'Ask plainly',
    })
    expect(names()).toEqual(['echo', 'meta'])
    const meta = { traceparent: '00-1', 'io.modelcontextprotocol/clientInfo': { name: 'agent' } }
    const { value } = await connection.call('meta', {}, { ...patient, meta })
    const [{ text }] = (value as { content: [{ text: string }] }).content
    expect(JSON.parse(text)).toEqual({
      ...meta,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    })
  })

  test('is listened to: a change of its tools is seen', async () => {
    const { connection, names } = await to('modern', ['--mutate=50', '--end=100'])
    await connection.ready()
    await expect.poll(names, { timeout: 3000 }).toEqual(['echo', 'meta', 'late'])
    expect((await connection.call('echo', { text: 'a' }, patient)).json.toString()).toContain('"a"')
  })
})

describe('a server that does not become ready', () => {
  test('because it chatters and says nothing is told so, with its first line', async () => {
    const { connection } = await to('not-mcp', [], { startMs: 400 })
    const error = await connection.ready().catch((cause: unknown) => connection.explain(cause))
    expect(connection.strayLines).toBe(2)
    expect(error).toEqual({
      error: {
        code: 'start_timeout',
        message:
          'It wrote text to stdout but no MCP message within 0.4 s. First line: "➜  Local:   http://localhost:5173/"',
        hint: 'Check that the command starts an MCP server that uses the stdio transport. Logs belong on stderr, not on stdout',
      },
      retry: true,
    })
  })

  test('because it is slow is told so, within the time for all of its start', async () => {
    const { connection } = await to('slow-handshake', ['--ms=60000'], { startMs: 300 })
    const startedAt = performance.now()
    const outcome = await connection.ready().catch((cause: unknown) => connection.explain(cause))
    expect(performance.now() - startedAt).toBeLessThan(500)
    expect(outcome).toMatchObject({
      error: { code: 'start_timeout', message: 'It did not answer initialize within 0.3 s' },
      retry: true,
    })
  })

  test('because its list does not come is told so, whatever it wrote before', async () => {
    const { connection, say } = wired({ startMs: 100 })
    const ready = connection.ready().catch((cause: unknown) => connection.explain(cause))
    await say('banner', { jsonrpc: '2.0', id: 1, result: hello })
    expect(await ready).toMatchObject({ error: { message: 'It did not answer tools/list within 0.1 s' } })
  })

  test('because it is none is told so for good', async () => {
    const { connection } = await to('liar', ['--initialize=invalid_result'])
    const outcome = await connection.ready().catch((cause: unknown) => connection.explain(cause))
    expect(outcome).toMatchObject({
      error: { code: 'not_mcp', message: 'Its response to initialize is not valid MCP' },
      retry: false,
    })
  })

  test('because it refuses is quoted, in one line', async () => {
    const { connection, say } = wired()
    const ready = connection.ready().catch((cause: unknown) => connection.explain(cause))
    await say(refusal(1, -32000, `\u001b[31mAPI_KEY\n is missing${'!'.repeat(1000)}`))
    await say(refusal(2, -32601, 'what?'))
    const { error, retry } = (await ready) as ReturnType<StdioClient['explain']>
    expect(error.message).toMatch(/^It rejected initialize: API_KEY {2}is missing!+$/)
    expect(error.message.length).toBeLessThan(350)
    expect([error.code, retry]).toEqual(['handshake_failed', true])
  })

  test('because its first list is an error is quoted too', async () => {
    const { connection, say } = wired()
    const ready = connection.ready().catch((cause: unknown) => connection.explain(cause))
    await say({ jsonrpc: '2.0', id: 1, result: hello })
    await say(refusal(2, -32603, 'no database'))
    expect(await ready).toMatchObject({
      error: { code: 'handshake_failed', message: 'It rejected tools/list: no database' },
      retry: true,
    })
  })
})

describe('what a server writes beside its messages', () => {
  test('reaches the log in one piece, or cut with the number of bytes that are missing', async () => {
    const { connection, say, noise, output } = wired()
    void connection.ready().catch(() => {}) // it is never answered
    await say(' ', 'short', `${'x'.repeat(LOG_LINE_MAX_BYTES - 1)}€uro`)
    for (let n = 0; n < 12; n += 1) output.write(Buffer.alloc(1024 * 1024, 'y'))
    await say('')
    expect(noise.slice(0, 2)).toEqual([
      [' ', 0],
      ['short', 0],
    ])
    expect(noise[2]?.[0]).toBe('x'.repeat(LOG_LINE_MAX_BYTES - 1))
    expect(noise[2]?.[1]).toBe(6)
    expect(noise[3]?.[0]).toHaveLength(LOG_LINE_MAX_BYTES)
    expect(noise[3]?.[1]).toBe(12 * 1024 * 1024 - LOG_LINE_MAX_BYTES)
    expect([connection.strayLines, connection.firstStrayLine]).toEqual([4, 'short'])
  })

  test('leaves the connection lost when the output ends, and no timer behind', async () => {
    const { child, connection, lists } = await to('mutate', ['--after=0'])
    await connection.ready()
    await sleep(20)
    child.closeInput()
    await connection.lost
    await sleep(200)
    expect(lists).toHaveLength(1)
    expect(await failureOf(connection.call('stable', {}, patient))).toBe('closed')
  })
})
