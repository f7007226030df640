import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FactBus } from '../../kernel/fact-bus.ts'
import type { LoggedLine } from '../../kernel/log.ts'
import { problemIn } from '../../kernel/validate.ts'
import { createLive } from './live.service.ts'
import type { LiveSocket } from './live-client.ts'

interface Frame {
  readonly v: 1
  readonly type: string
  readonly seq: number
  readonly event: number
  readonly ts: string
  readonly data: Record<string, unknown>
}

/** A connection in memory. While `reads` is false, sent frames stay in its buffer. */
class FakeSocket implements LiveSocket {
  readonly frames: Frame[] = []
  closed: { code: number; reason: string } | undefined
  unsentBytes = 0
  reads = true
  #onMessage: (text: string | null) => void = () => {}
  #onClose: (() => void)[] = []

  send(text: string): void {
    this.frames.push(JSON.parse(text))
    if (!this.reads) this.unsentBytes += text.length
  }
  close(code: number, reason: string): void {
    this.closed = { code, reason }
    for (const listener of this.#onClose) listener()
  }
  onMessage(listener: (text: string | null) => void): void {
    this.#onMessage = listener
  }
  onClose(listener: () => void): void {
    this.#onClose.push(listener)
  }
  receive(message: object | string | null): void {
    this.#onMessage(typeof message === 'object' && message !== null ? JSON.stringify(message) : message)
  }
  types = (): string[] => this.frames.map(({ type }) => type)
}

function openStream() {
  const facts = new FactBus((error) => {
    throw error
  })
  let now = Date.UTC(2026, 10, 15)
  /** The current status of each server. */
  const statuses = new Map<string, string>()
  const live = createLive({
    facts,
    version: '1.2.3',
    home: '/home/me',
    summary: () => ({ calls: 0 }),
    servers: () => [...statuses].map(([server_id, status]) => ({ server_id, status })),
    now: () => now,
    clock: () => now,
  })
  const setStatus = (server_id: string, status: 'stopped' | 'failed' = 'stopped') => {
    statuses.set(server_id, status)
    const error = { code: 'x', message: 'x', hint: null }
    const state = status === 'stopped' ? ({ status } as const) : ({ status, error } as const)
    facts.publish('server_status', { server_id, state, cause: 'a test' })
  }
  const open = () => {
    const socket = new FakeSocket()
    live.open(socket, problemIn)
    return socket
  }
  const tick = (ms: number) => {
    now += ms
  }
  return { facts, live, statuses, setStatus, open, tick }
}

const line = (message: string, more: Partial<LoggedLine> = {}): LoggedLine => ({
  id: 1,
  ts: 1,
  level: 'info',
  source: 'server',
  stream: null,
  server_id: 'a',
  agent_type: null,
  tool: null,
  request_id: null,
  message,
  data: null,
  repeat: 1,
  truncated: false,
  ...more,
})

describe('live stream', () => {
  test('a client receives hello, then a snapshot, then changes', () => {
    const { open, setStatus, live } = openStream()
    setStatus('a')
    const socket = open()
    setStatus('b', 'failed')
    expect(socket.frames).toMatchObject([
      { v: 1, type: 'hello', seq: 1, data: { version: '1.2.3', home: '/home/me', interval_ms: 1000 } },
      { type: 'snapshot', seq: 2, data: { servers: [{ server_id: 'a', status: 'stopped' }] } },
      { type: 'server_status', seq: 3, data: { server_id: 'b', status: 'failed', cause: 'a test' } },
    ])
    live.close()
    expect(socket.closed?.code).toBe(1001)
  })

  test('a client that connects during a burst sees the current state and every later event exactly once', () => {
    const step = fc.oneof(
      fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), status: fc.constantFrom('stopped', 'failed') }),
      fc.constant('connect' as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { open, setStatus, statuses } = openStream()
        const sockets: FakeSocket[] = []
        for (const each of steps) {
          if (each === 'connect') sockets.push(open())
          else setStatus(each.id, each.status as 'stopped')
        }
        for (const { frames } of sockets) {
          expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_, index) => index + 1))
          const [, snapshot, ...changes] = frames
          const seen = new Map<string, unknown>()
          const all = [
            ...((snapshot?.data.servers ?? []) as Frame['data'][]),
            ...changes.map(({ data }) => data),
          ]
          for (const { server_id, status } of all) seen.set(String(server_id), status)
          expect([...seen].sort()).toEqual([...statuses].sort())
          expect(new Set(changes.map(({ event }) => event)).size).toBe(changes.length)
        }
      }),
    )
  })

  test('a client that resumes gets those missed events only that it is subscribed to', () => {
    const { open, setStatus } = openStream()
    const first = open()
    const last_event = first.frames.at(-1)?.event
    setStatus('a')
    setStatus('b')
    const some = open()
    some.receive({ type: 'subscribe', topics: ['server_status'], server_ids: ['b'] })
    some.frames.length = 0
    some.receive({ type: 'resume', last_event })
    expect(some.frames.map(({ type, data }) => [type, data.server_id])).toEqual([['server_status', 'b']])
    const none = open()
    none.receive({ type: 'unsubscribe', topics: ['server_status'] })
    none.frames.length = 0
    none.receive({ type: 'resume', last_event })
    expect(none.types()).toEqual([])
  })

  test('a client that resumes within a minute gets the missed events once; later it gets a new snapshot', () => {
    const { open, setStatus, tick } = openStream()
    const first = open()
    setStatus('a')
    const last_event = first.frames.at(-1)?.event
    first.close(1000, 'test')
    setStatus('b')
    setStatus('c')
    const second = open()
    second.receive({ type: 'resume', last_event })
    second.receive({ type: 'resume', last_event })
    expect(second.frames.slice(2)).toMatchObject([{ data: { server_id: 'b' } }, { data: { server_id: 'c' } }])
    tick(61_000)
    const third = open()
    third.receive({ type: 'resume', last_event })
    expect(third.types()).toEqual(['hello', 'snapshot', 'snapshot'])
    const fourth = open()
    fourth.receive({ type: 'resume', last_event: 12 })
    expect(fourth.types()).toEqual(['hello', 'snapshot', 'snapshot'])
  })

  test('a client receives log lines only after subscribing, and only those that match its filter', () => {
    const { open, facts } = openStream()
    const socket = open()
    const received = () => socket.frames.filter(({ type }) => type === 'log').map(({ data }) => data.message)
    facts.publish('log', line('not subscribed'))
    socket.receive({
      type: 'subscribe',
      topics: ['log'],
      server_ids: ['a'],
      filter: { level: 'warn', search: 'DISK' },
    })
    facts.publish('log', line('the disk is full', { level: 'error' }))
    facts.publish('log', line('the disk is full'))
    facts.publish('log', line('another', { level: 'error' }))
    facts.publish('log', line('a disk elsewhere', { level: 'error', server_id: 'b' }))
    facts.publish('log', line('a disk of no server', { level: 'error', server_id: null }))
    socket.receive({ type: 'subscribe', topics: ['log'], filter: { stream: ['stderr'], source: ['server'] } })
    facts.publish('log', line('to stderr', { stream: 'stderr' }))
    facts.publish('log', line('to stdout', { stream: 'stdout' }))
    socket.receive({ type: 'unsubscribe', topics: ['log'] })
    facts.publish('log', line('afterwards'))
    expect(received()).toEqual(['the disk is full', 'to stderr'])
  })

  test('a client that subscribes with `batch` receives log lines together, and none twice', async () => {
    const { open, facts } = openStream()
    const socket = open()
    const batches = () =>
      socket.frames
        .filter(({ type }) => type === 'logs')
        .map(({ data }) => (data as unknown as { message: string }[]).map(({ message }) => message))
    socket.receive({ type: 'subscribe', topics: ['log'], batch: true })
    for (const text of ['a', 'b', 'c']) facts.publish('log', line(text))
    expect(batches()).toEqual([])
    await expect.poll(batches).toEqual([['a', 'b', 'c']])
    facts.publish('log', line('d'))
    socket.receive({ type: 'subscribe', topics: ['log'] }) // ends the batch
    facts.publish('log', line('e'))
    expect(batches()).toEqual([['a', 'b', 'c'], ['d']])
    expect(socket.frames.filter(({ type }) => type === 'log').map(({ data }) => data.message)).toEqual(['e'])
  })

  test('a client can unsubscribe from topics and limit topics to some servers', () => {
    const { open, setStatus, facts } = openStream()
    const socket = open()
    socket.receive({ type: 'unsubscribe', topics: ['server_added'] })
    socket.receive({ type: 'subscribe', topics: ['server_status'], server_ids: ['a'] })
    facts.publish('server_added', { server_id: 'a', type: 'stdio' })
    facts.publish('server_removed', { server_id: 'b', type: 'stdio' })
    setStatus('a')
    setStatus('b')
    expect(socket.types().slice(2)).toEqual(['server_removed', 'server_status'])
  })

  test.each([
    ['{', 'not valid JSON'],
    [{ type: 'shout' }, 'type must be one of'],
    [{ type: 'subscribe', topics: ['nothing'] }, "No topic is called 'nothing'. The topics are metrics"],
    [{ type: 'subscribe', topics: ['server_satus'] }, "Did you mean 'server_status'?"],
    [{ type: 'subscribe', topics: [] }, 'topics'],
    [{ type: 'resume', last_event: '1' }, 'last_event'],
    [{ type: 'ping', more: 1 }, 'more is not a known field'],
    ['null', 'type must be one of'],
  ])('a client that sends %j gets an error frame and stays connected', (message, words) => {
    const { open, setStatus } = openStream()
    const socket = open()
    socket.receive(message)
    setStatus('a')
    expect(socket.frames[2]).toMatchObject({ type: 'error', data: { code: 'invalid_message' } })
    expect(String(socket.frames[2]?.data.message)).toContain(words)
    expect(socket.types().at(-1)).toBe('server_status')
  })

  test('a client that sends binary data or too many messages is disconnected', () => {
    const { open } = openStream()
    const bytes = open()
    bytes.receive(null)
    expect(bytes.closed?.code).toBe(1003)
    const busy = open()
    for (let n = 0; n < 60; n += 1) busy.receive({ type: 'ping' })
    expect(busy.closed?.code).toBe(1008)
  })

  test('a client that stops reading misses frequent events, is told how many, and is disconnected at 1 MiB', () => {
    const { open, facts, setStatus } = openStream()
    const socket = open()
    socket.receive({ type: 'subscribe', topics: ['log'] })
    socket.reads = false
    const long = 'x'.repeat(10_000)
    for (let n = 0; n < 100; n += 1) facts.publish('log', line(long))
    expect(socket.unsentBytes).toBeLessThan(300 * 1024)
    expect(socket.closed).toBeUndefined()
    const sent = socket.frames.filter(({ type }) => type === 'log').length
    socket.reads = true
    socket.unsentBytes = 0
    setStatus('a')
    expect(socket.frames.slice(-2)).toMatchObject([
      { type: 'dropped', data: { frames: 100 - sent } },
      { type: 'server_status' },
    ])
    expect(socket.frames.map(({ seq }) => seq)).toEqual(socket.frames.map((_, index) => index + 1))
    socket.reads = false
    for (let n = 0; n < 20_000 && !socket.closed; n += 1) setStatus(`server-${n}`)
    expect(socket.closed?.code).toBe(1013)
    expect(socket.unsentBytes).toBeLessThan(1.1 * 1024 * 1024)
  })
})
