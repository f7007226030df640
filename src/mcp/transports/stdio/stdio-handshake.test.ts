import { describe, expect, test } from 'vitest'
import { pair } from '../../../../test/support/pair.ts'
import { NotMcpError } from '../../client/handshake.ts'
import { stdioHandshake } from './stdio-handshake.ts'

const answer = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })
const refusal = (id: number, code = -32601) => ({ jsonrpc: '2.0', id, error: { code, message: `no ${id}` } })
const modern = { supportedVersions: ['2026-07-28', '2030-01-01'], capabilities: { tools: {} } }
const legacy = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'x' } }

describe('the handshake', () => {
  test.each([
    [{}],
    [{ protocolVersion: 1 }],
    ['hello'],
    [null],
    [{ protocolVersion: '1999-01-01', capabilities: {} }],
  ])('with the answer %j is refused for good', async (result) => {
    const { peer, say } = pair()
    const refused = expect(stdioHandshake(peer, '0', 5000, null)).rejects.toThrow(NotMcpError)
    await say(answer(1, result))
    await refused
  })

  test('keeps what the server said of itself, then says that it is done', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, '1.2.3', 5000, null)
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
    'refused with %i is followed by the modern question',
    async (code) => {
      const { peer, say, sent } = pair()
      const handshake = stdioHandshake(peer, '1.2.3', 5000, null)
      await say(refusal(1, code))
      expect((await sent())[1]).toMatchObject({
        method: 'server/discover',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
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
    ['refused', refusal(2)],
    ['of no known version', answer(2, { ...modern, supportedVersions: ['2030-01-01'] })],
    ['nonsense', answer(2, { supportedVersions: '2026-07-28' })],
    ['null', answer(2, null)],
  ])('fails with the first refusal when the modern answer is %s', async (_, second) => {
    const { peer, say } = pair()
    const failed = expect(stdioHandshake(peer, '0', 5000, null)).rejects.toMatchObject({
      remote: { message: 'no 1' },
    })
    await say(refusal(1))
    await say(second)
    await failed
  })

  test('begins with the modern question where that was right the last time', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, '0', 5000, '2026-07-28')
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover'])
    await say(answer(1, modern))
    expect(await handshake).toMatchObject({ era: 'modern', server_info: {} })
  })

  test('goes back to initialize when a server was modern only the last time', async () => {
    const { peer, say, sent } = pair()
    const handshake = stdioHandshake(peer, '0', 5000, '2026-07-28')
    await say(refusal(1))
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover', 'initialize'])
    await say(answer(2, legacy))
    expect(await handshake).toMatchObject({ era: 'legacy' })
  })

  test('takes silence for legacy, and asks a slow modern server once more', async () => {
    const { peer, say, sent } = pair()
    const startedAt = performance.now()
    const handshake = stdioHandshake(peer, '0', 1000, '2026-07-28')
    await expect.poll(async () => (await sent()).at(-1)?.method).toBe('initialize')
    expect(performance.now() - startedAt).toBeLessThan(900)
    await say(answer(1, modern), refusal(2)) // it has come to itself
    await say(answer(3, modern))
    expect(await handshake).toMatchObject({ era: 'modern' })
  })

  test('ends in time with a server that says nothing at all', async () => {
    const { peer, sent } = pair()
    const startedAt = performance.now()
    await expect(stdioHandshake(peer, '0', 300, '2026-07-28')).rejects.toMatchObject({ reason: 'timeout' })
    expect(performance.now() - startedAt).toBeLessThan(400)
    expect((await sent()).map(({ method }) => method)).toEqual(['server/discover', 'initialize'])
  })
})
