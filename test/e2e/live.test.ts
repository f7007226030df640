import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { covers } from '../support/covers.ts'
import { definition, post, register } from '../support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../support/test-service.ts'

interface Frame {
  readonly type: string
  readonly seq: number
  readonly event: number
  readonly data: Record<string, unknown>
}

/** A client that keeps all received frames. */
function listen({ address }: TestService, protocols: string[] = [], options: ClientOptions = {}) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`, protocols, options)
  onTestFinished(() => socket.terminate())
  const frames: Frame[] = []
  socket.on('message', (data) => frames.push(JSON.parse(String(data))))
  socket.on('error', () => {}) // the test checks the outcome
  const until = async (type: string, ms = 60_000): Promise<Frame> => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(10)) {
      const found = frames.find((frame) => frame.type === type)
      if (found) return found
    }
    return expect.unreachable(`no ${type} frame, only ${frames.map((each) => each.type).join(', ')}`)
  }
  return { socket, frames, until, say: (message: object) => socket.send(JSON.stringify(message)) }
}

/** The HTTP status of a refused upgrade. */
async function refusal(service: TestService, protocols: string[] = [], options: ClientOptions = {}) {
  const { socket } = listen(service, protocols, options)
  const [, response] = await once(socket, 'unexpected-response')
  return response.statusCode
}

function isAccepted(service: TestService): Promise<boolean> {
  const { socket } = listen(service)
  return new Promise((resolve) => {
    socket.once('open', () => resolve(true))
    socket.once('unexpected-response', () => resolve(false))
  })
}

describe('the live stream', () => {
  test('the live stream sends a snapshot and then every event, without a token', async () => {
    covers('public-ws-metrics', 'events-ws-real-time', 'ws-metrics', 'events-messages', 'does-websocket')
    const service = await openTestService()
    await register(service, 'echo')
    const { until, frames } = listen(service)
    expect((await until('hello')).data).toMatchObject({ interval_ms: 1000, topics: expect.any(Array) })
    expect((await until('snapshot')).data).toMatchObject({
      servers: [{ server_id: 'echo', type: 'stdio', status: 'stopped' }],
    })
    await post(service, '/api/servers/echo/start')
    await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'a secret word' } })
    await until('call_completed')
    await until('metrics')
    const statuses = frames.filter(({ type }) => type === 'server_status').map(({ data }) => data.status)
    expect(statuses).toEqual(['starting', 'running'])
    expect((await until('tools_changed')).data).toMatchObject({ server_id: 'echo', tool_count: 4 })
    expect((await until('call_completed')).data).toMatchObject({ tool: 'echo', status: 'ok' })
    expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_, index) => index + 1))
    expect(JSON.stringify(frames)).not.toContain('a secret word')
  })

  test('the live stream sends log lines to clients that subscribe to them', async () => {
    const service = await openTestService()
    await register(service, 'noisy')
    const { until, say, frames } = listen(service)
    await until('snapshot')
    say({ type: 'subscribe', topics: ['log'], server_ids: ['noisy'], filter: { level: 'error' } })
    say({ type: 'ping' })
    await until('heartbeat')
    await post(service, '/api/servers/noisy/start')
    const logged = () => frames.filter(({ type }) => type === 'log').map(({ data }) => data.message)
    await expect.poll(logged).toContain('[error] noisy speaks at level error')
    await sleep(200)
    expect(logged()).not.toContain('[info] noisy speaks at level info')
    const stored = (
      await service.inject('/api/logs?server_id=noisy&level=error&source=server&order=asc')
    ).json()
    const sent = frames.filter(({ type, data }) => type === 'log' && data.source === 'server')
    expect(sent.map(({ data }) => data)).toEqual(stored.items)
  })

  test('the live stream refuses other origins, other paths, wrong versions and, with PROTECT_READS, a missing token', async () => {
    const service = await openTestService()
    expect(await refusal(service, [], { headers: { origin: 'https://evil.example' } })).toBe(403)
    expect(await refusal(service, [], { headers: { host: 'evil.example' } })).toBe(403)
    expect(await refusal(service, [], { protocolVersion: 8 })).toBe(400)
    const guarded = await openTestService({ env: { PROTECT_READS: 'true' } })
    expect(await refusal(guarded)).toBe(401)
    expect(await refusal(guarded, ['toolroom.wrong'])).toBe(401)
    const { until, socket } = listen(guarded, [`toolroom.${TOKEN}`])
    await until('hello')
    expect(socket.protocol).toBe(`toolroom.${TOKEN}`)
  })

  test.each([
    ['more than 4 KiB', 'x'.repeat(5000), 1009],
    ['bytes', Buffer.from('{"type":"ping"}'), 1003],
  ])(
    'the live stream disconnects a client that sends %s, without affecting other clients',
    async (_, message, code) => {
      const service = await openTestService()
      const [bad, good] = [listen(service), listen(service)]
      await Promise.all([bad.until('snapshot'), good.until('snapshot')])
      bad.socket.send(message)
      const [closed] = await once(bad.socket, 'close')
      expect(closed).toBe(code)
      await good.until('metrics')
      expect(good.socket.readyState).toBe(WebSocket.OPEN)
    },
  )

  test('the live stream accepts 256 clients, and the next gets 503', async () => {
    const service = await openTestService()
    const clients = Array.from({ length: 256 }, () => listen(service))
    await Promise.all(clients.map(({ until }) => until('snapshot')))
    expect(await refusal(service)).toBe(503)
    clients[0]?.socket.close()
    await expect.poll(() => isAccepted(service), { interval: 100 }).toBe(true)
  })

  test('a plain GET of the live stream gets an explanation, and the stream ends with the service', async () => {
    const service = await openTestService()
    expect((await service.inject('/api/ws/metrics')).json()).toMatchObject({
      status: 426,
      code: 'upgrade_required',
    })
    const { socket, until } = listen(service)
    await until('snapshot')
    const closed = once(socket, 'close')
    await service.close()
    expect((await closed)[0]).toBe(1001)
  })

  test('a client that resumes the live stream gets the events it missed', async () => {
    const service = await openTestService()
    const first = listen(service)
    const { event } = await first.until('snapshot')
    first.socket.terminate()
    await service.inject({
      method: 'POST',
      url: '/api/servers',
      headers: AUTHORISED,
      payload: definition('echo'),
    })
    const second = listen(service)
    await second.until('snapshot')
    second.say({ type: 'resume', last_event: event })
    expect((await second.until('server_added')).data).toMatchObject({ server_id: 'echo' })
  })
})
