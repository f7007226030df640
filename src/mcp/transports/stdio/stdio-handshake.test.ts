import { describe, expect, test } from 'vitest'
import { pair } from '../../../../test/support/connected-peer.ts'
import { stopwatch } from '../../../../test/support/measuring.ts'
import { NotMcpError } from '../../client/handshake.ts'
import { stdioHandshake } from './stdio-client.ts'

const answer = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })
const rejection = (id: number, code = -32601) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: `no ${id}` },
})
const modern = { supportedVersions: ['2026-07-28', '2030-01-01'], capabilities: { tools: {} } }
const legacy = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'x' } }

describe('stdio handshake', () => {
  test.each([
    [{}],
    [{ protocolVersion: 1 }],
    ['hello'],
    [null],
    [{ protocolVersion: '1999-01-01', capabilities: {} }],
  ])('the response %j to initialize is not valid MCP', async (result) => {
    const { peer, say } = pair()
    const refused = expect(
      stdioHandshake(peer, { version: '0', timeoutMs: 5000, knownVersion: null }),
    ).rejects.toThrow(NotMcpError)
    await say(answer(1, result))
    await refused
  })

  test('the legacy handshake returns the description of the server, then sends notifications/initialized', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, { version: '1.2.3', timeoutMs: 5000, knownVersion: null })
    expect((await sent())[0].params).toMatchObject({
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'toolroom', version: '1.2.3' },
    })
    await say(answer(1, legacy))
    expect(await handshake).toEqual({
      era: 'legacy',
      protocol_version: '2024-11-05',
      server_info: { name: 'x' },
      capabilities: { tools: {} },
      instructions: null,
    })
    expect(await sent()).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized' }])
  })

  test.each([-32601, -32022, -32602, 0])(
    'server/discover follows when the server rejects initialize with code %i',
    async (code) => {
      const { peer, say, sent } = pair()
      const handshake = stdioHandshake(peer, { version: '1.2.3', timeoutMs: 5000, knownVersion: null })
      await say(rejection(1, code))
      expect((await sent())[1]).toMatchObject({
        method: 'server/discover',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {
              extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
            },
            'io.modelcontextprotocol/clientInfo': { name: 'toolroom', version: '1.2.3' },
          },
        },
      })
      const serverInfo = { name: 'm', version: '1' }
      const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
      await say(answer(2, { ...modern, instructions: 'Ask', _meta }))
      expect(await handshake).toEqual({
        era: 'modern',
        protocol_version: '2026-07-28',
        server_info: serverInfo,
        capabilities: { tools: {} },
        instructions: 'Ask',
      })
      expect(await sent()).toEqual([])
    },
  )

  test.each([
    ['an error', rejection(2)],
    ['a list of unknown versions', answer(2, { ...modern, supportedVersions: ['2030-01-01'] })],
    ['invalid', answer(2, { supportedVersions: '2026-07-28' })],
    ['null', answer(2, null)],
  ])(
    'the handshake fails with the error of initialize when the response to server/discover is %s',
    async (_, second) => {
      const { peer, say } = pair()
      const failed = expect(
        stdioHandshake(peer, { version: '0', timeoutMs: 5000, knownVersion: null }),
      ).rejects.toMatchObject({
        remote: { message: 'no 1' },
      })
      await say(rejection(1))
      await say(second)
      await failed
    },
  )

  test('server/discover is sent first to a server that was modern in its last connection', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, { version: '0', timeoutMs: 5000, knownVersion: '2026-07-28' })
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover'])
    await say(answer(1, modern))
    expect(await handshake).toMatchObject({ era: 'modern', server_info: {} })
  })

  test('initialize follows when a server that was modern before rejects server/discover', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, { version: '0', timeoutMs: 5000, knownVersion: '2026-07-28' })
    await say(rejection(1))
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover', 'initialize'])
    await say(answer(2, legacy))
    expect(await handshake).toMatchObject({ era: 'legacy' })
  })

  test('initialize follows when server/discover is not answered, and server/discover is repeated when initialize is rejected', async () => {
    const { peer, say, sent, noise } = pair()
    const handshake = stdioHandshake(peer, { version: '0', timeoutMs: 5000, knownVersion: '2026-07-28' })
    await expect.poll(async () => (await sent()).at(-1)?.method).toBe('initialize')
    // The late response settles nothing, and it is not logged as stray output either.
    await say(answer(1, { ...modern, instructions: 'late' }), rejection(2))
    await expect.poll(async () => (await sent()).at(-1)?.method).toBe('server/discover')
    await say(
      answer(1, { ...modern, instructions: 'late' }),
      answer(3, { ...modern, instructions: 'in time' }),
    )
    expect(await handshake).toMatchObject({ era: 'modern', instructions: 'in time' })
    expect(noise).toEqual([])
  })

  test('the handshake with a silent server ends at its deadline', async () => {
    const { peer, sent } = pair()
    const spent = stopwatch()
    await expect(
      stdioHandshake(peer, { version: '0', timeoutMs: 300, knownVersion: '2026-07-28' }),
    ).rejects.toMatchObject({ reason: 'timeout' })
    expect(spent()).toBeLessThan(1500) // 2 s for the first request alone, if they did not share the time
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover', 'initialize'])
  })
})
