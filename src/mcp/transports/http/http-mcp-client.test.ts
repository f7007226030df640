import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDualEra } from '../../../../test/fixtures/http/dual-era.ts'
import { openLegacy } from '../../../../test/fixtures/http/legacy.ts'
import { failureOf } from '../../../../test/support/connected-peer.ts'
import {
  connectedTo,
  remoteTo,
  startEverything,
  startRemote,
  textOf,
} from '../../../../test/support/remote.ts'

const patient = { timeoutMs: 60_000 }
/** Not allowed in a header without encoding. */
const ODD_NAME = 'grüße 🎈'

/** Closes the site at the end of the test, after the connections to it. */
async function open<T extends { close: () => Promise<unknown> }>(site: Promise<T>): Promise<T> {
  const opened = await site
  onTestFinished(() => void opened.close())
  return opened
}

describe('reference server', () => {
  test.each([
    ['streamableHttp', '/mcp', 'streamable_http'],
    ['sse', '/sse', 'sse'],
  ] as const)(
    'the reference server over %s is detected, listed and called',
    async (mode, path, transport) => {
      const { origin } = await startEverything(mode)
      const { connection, names, lists } = await connectedTo(origin + path)
      expect(connection.transport).toBe(transport)
      expect(connection.handshake).toMatchObject({
        era: 'legacy',
        server_info: { name: expect.stringContaining('everything') },
      })
      expect(names()).toContain('echo')
      const result = await connection.call('echo', { message: 'grüße 🎈' }, patient)
      expect(textOf(result)).toContain('grüße 🎈')
      expect(JSON.parse(result.bytes.toString())).toEqual(result.value)
      const refused = await connection.call('no-such-tool', {}, patient).catch((error: unknown) => error)
      expect(JSON.stringify(refused)).toMatch(/isError|remote/)
      const listed = lists.length
      await connection.refresh(60_000)
      expect(lists).toHaveLength(listed + 1)
      expect(lists.at(-1)).toEqual(lists.at(-2))
      await connection.close()
      expect(await failureOf(connection.call('echo', {}, patient))).toBe('closed')
    },
  )

  test('a known or configured transport is used without trying others', async () => {
    const { origin } = await startEverything('sse')
    const known = { transport: 'sse', protocol_version: '2024-11-05' } as const
    const { connection } = await connectedTo(`${origin}/sse`, { known })
    expect(connection.transport).toBe('sse')
    await connectedTo(`${origin}/sse`, { transport: 'sse' })
    const wrong = remoteTo(`${origin}/sse`, { transport: 'streamable_http' })
    await expect(wrong.connection.connect(60_000)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a server that exits during a call over SSE is reported as lost at once', async () => {
    const { origin, child } = await startEverything('sse')
    const { connection, lost } = await connectedTo(`${origin}/sse`)
    const call = connection.call('trigger-long-running-operation', { duration: 90, steps: 3 }, patient)
    await sleep(200)
    child.kill('SIGKILL')
    expect(await failureOf(call)).toBe('closed')
    expect(lost).toHaveLength(1)
    expect(await failureOf(connection.call('echo', {}, patient))).toBe('closed')
  })
})

test('the context7 server is connected in the modern era without internet access', async () => {
  const { origin } = await startRemote(
    '@upstash/context7-mcp/dist/index.js',
    (port) => ['--transport', 'http', '--port', String(port)],
    { OTEL_SDK_DISABLED: 'true' },
  )
  const { connection, names } = await connectedTo(`${origin}/mcp`)
  expect(connection.handshake).toMatchObject({ era: 'modern', server_info: { name: 'Context7' } })
  expect(names()).toContain('resolve-library-id')
})

describe('server of both eras', () => {
  test('a server of both eras gets modern requests with all required headers', async () => {
    vi.spyOn(console, 'warn').mockReturnValue() // the SDK warns about such names
    const server = await open(openDualEra({ tools: [ODD_NAME] }))
    const { connection, names } = await connectedTo(server.url, { headers: { 'X-Api-Key': 'k' } })
    expect(connection.handshake).toEqual({
      era: 'modern',
      protocol_version: '2026-07-28',
      server_info: { name: 'dual-era', version: '1.0.0' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'Ask plainly',
    })
    expect(names()).toEqual(['echo', 'slow', ODD_NAME])
    expect(textOf(await connection.call('echo', { text: 'a', region: 'Zürich ' }, patient))).toBe(
      'a from Zürich ',
    )
    expect(textOf(await connection.call('echo', { text: 'b', region: 'eu-1' }, patient))).toBe('b from eu-1')
    expect((await connection.call(ODD_NAME, {}, patient)).value).toMatchObject({ content: [] })
    const last = server.received.at(-1)
    expect(last).toMatchObject({ 'mcp-method': 'tools/call', 'x-api-key': 'k', 'user-agent': 'toolroom/0' })
    expect(last).not.toHaveProperty('mcp-session-id')
  })

  test('a server of the modern era only is detected, whatever is known of it', async () => {
    const server = await open(openDualEra({ legacy: 'reject' }))
    const known = { transport: 'streamable_http', protocol_version: '2025-11-25' } as const
    for (const own of [{}, { known }, { transport: 'streamable_http' as const }]) {
      const { connection } = await connectedTo(server.url, own)
      expect(connection.handshake?.era).toBe('modern')
    }
  })

  test('a server of both eras that is known as legacy gets the legacy handshake', async () => {
    const server = await open(openDualEra())
    const known = { transport: 'streamable_http', protocol_version: '2025-06-18' } as const
    const { connection } = await connectedTo(server.url, { known })
    expect(connection.handshake).toMatchObject({ era: 'legacy', protocol_version: '2025-11-25' })
    expect(textOf(await connection.call('echo', { text: 'a' }, patient))).toBe('a')
  })

  test('a modern server notices a cancelled call by its closed stream', async () => {
    const server = await open(openDualEra())
    const { connection } = await connectedTo(server.url)
    expect(await failureOf(connection.call('slow', {}, { timeoutMs: 100 }))).toBe('timeout')
    const signal = AbortSignal.timeout(100)
    expect(await failureOf(connection.call('slow', {}, { ...patient, signal }))).toBe('cancelled')
    await expect.poll(() => server.cancelled).toEqual(['slow', 'slow'])
  })

  test('a change of the tools of a modern server is noticed', async () => {
    const server = await open(openDualEra())
    const { names } = await connectedTo(server.url)
    const isListening = () => server.received.some((each) => each['mcp-method'] === 'subscriptions/listen')
    await expect.poll(isListening).toBe(true)
    await sleep(100)
    server.add('late')
    await expect.poll(names).toContain('late')
  })
})

describe('legacy server with sessions', () => {
  test('a legacy server is connected, listed and called, and its session is deleted on close', async () => {
    const server = await open(openLegacy())
    const { connection, names } = await connectedTo(server.url)
    expect(connection.handshake).toMatchObject({ era: 'legacy', protocol_version: '2025-11-25' })
    expect(names()).toEqual(['echo', 'slow'])
    const result = await connection.call('echo', { text: 'a' }, { ...patient, meta: { progressToken: 0 } })
    expect(result.bytes.toString()).toBe('{"content":[{"type":"text","text":"a"}]}')
    expect(server.received.at(-1)).toMatchObject({
      'mcp-protocol-version': '2025-11-25',
      'mcp-session-id': [...server.sessions.keys()][0],
    })
    await connection.close()
    expect(server.closed).toEqual([...server.sessions.keys()])
    await expect.poll(server.open).toBe(0)
  })

  test.each([404, 400] as const)(
    'a session that is rejected with %i is replaced once for all pending calls',
    async (status) => {
      const server = await open(openLegacy({ unknownSession: status }))
      const { connection, lists } = await connectedTo(server.url)
      server.forget()
      const call = (text: string) => connection.call('echo', { text }, patient)
      expect((await Promise.all(['a', 'b', 'c'].map(call))).map(textOf)).toEqual(['a', 'b', 'c'])
      expect(server.sessions.size).toBe(1)
      await expect.poll(() => lists.length, { message: 'the tools are listed again' }).toBe(2)
    },
  )

  test('a legacy server receives a cancel notification when a call times out', async () => {
    const server = await open(openLegacy())
    const { connection } = await connectedTo(server.url)
    expect(await failureOf(connection.call('slow', {}, { timeoutMs: 100 }))).toBe('timeout')
    await expect.poll(() => server.cancelled).toEqual(['slow'])
  })

  test('a change of the tools of a legacy server is noticed, even after it lost the session', async () => {
    const server = await open(openLegacy())
    const { connection, names } = await connectedTo(server.url)
    const streams = () => server.received.filter(({ accept }) => accept === 'text/event-stream').length
    await expect.poll(streams).toBe(1)
    await sleep(100)
    await server.add('late')
    await expect.poll(names).toEqual(['echo', 'slow', 'late'])
    server.forget()
    await connection.call('echo', {}, patient)
    await expect.poll(streams).toBe(2)
    await sleep(100)
    await server.add('later')
    await expect.poll(names).toContain('later')
  })
})
