import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FactBus } from '../kernel/facts.ts'
import { createLive } from './live.service.ts'
import type { LiveSocket } from './socket.ts'

interface Frame {
  readonly v: 1
  readonly type: string
  readonly seq: number
  readonly event: number
  readonly ts: string
  readonly data: Record<string, unknown>
}

/** A connection in memory, whose reader reads when it is told to. */
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
  says(message: object | string | null): void {
    this.#onMessage(typeof message === 'object' && message !== null ? JSON.stringify(message) : message)
  }
  types = (): string[] => this.frames.map(({ type }) => type)
}

function house() {
  const facts = new FactBus((error) => {
    throw error
  })
  let now = Date.UTC(2026, 10, 15)
  /** What is true: the servers and their last status. */
  const truth = new Map<string, string>()
  const live = createLive({
    facts,
    version: '1.2.3',
    summary: () => ({ calls: 0 }),
    servers: () => [...truth].map(([server_id, status]) => ({ server_id, status })),
    now: () => now,
    clock: () => now,
  })
  const happens = (server_id: string, status: 'stopped' | 'failed' = 'stopped') => {
    truth.set(server_id, status)
    const error = { code: 'x', message: 'x', hint: null }
    const state = status === 'stopped' ? ({ status } as const) : ({ status, error } as const)
    facts.publish('server_status', { server_id, state, cause: 'a test' })
  }
  const open = () => {
    const socket = new FakeSocket()
    live.open(socket)
    return socket
  }
  const tick = (ms: number) => {
    now += ms
  }
  return { facts, live, truth, happens, open, tick }
}

const line = (message: string, more = {}) =>
  ({ ts: 1, level: 'info', source: 'server', server_id: 'a', message, ...more }) as const

describe('a client', () => {
  test('is greeted, told what is true, and then what changes', () => {
    const { open, happens, live } = house()
    happens('a')
    const socket = open()
    happens('b', 'failed')
    expect(socket.frames).toMatchObject([
      { v: 1, type: 'hello', seq: 1, data: { version: '1.2.3', interval_ms: 1000 } },
      { type: 'snapshot', seq: 2, data: { servers: [{ server_id: 'a', status: 'stopped' }] } },
      { type: 'server_status', seq: 3, data: { server_id: 'b', status: 'failed', cause: 'a test' } },
    ])
    live.close()
    expect(socket.closed?.code).toBe(1001)
  })

  test('that connects at any moment of a burst sees every event once: snapshot and stream are the truth', () => {
    const step = fc.oneof(
      fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), status: fc.constantFrom('stopped', 'failed') }),
      fc.constant('connect' as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { open, happens, truth } = house()
        const sockets: FakeSocket[] = []
        for (const each of steps) {
          if (each === 'connect') sockets.push(open())
          else happens(each.id, each.status as 'stopped')
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
          expect([...seen].sort()).toEqual([...truth].sort())
          expect(new Set(changes.map(({ event }) => event)).size).toBe(changes.length)
        }
      }),
    )
  })

  test('that comes back within a minute gets what it missed, once, and a new snapshot after it', () => {
    const { open, happens, tick } = house()
    const first = open()
    happens('a')
    const last_event = first.frames.at(-1)?.event
    first.close(1000, 'gone')
    happens('b')
    happens('c')
    const second = open()
    second.says({ type: 'resume', last_event })
    second.says({ type: 'resume', last_event })
    expect(second.frames.slice(2)).toMatchObject([{ data: { server_id: 'b' } }, { data: { server_id: 'c' } }])
    tick(61_000)
    const third = open()
    third.says({ type: 'resume', last_event })
    expect(third.types()).toEqual(['hello', 'snapshot', 'snapshot'])
    const fourth = open()
    fourth.says({ type: 'resume', last_event: 12 })
    expect(fourth.types()).toEqual(['hello', 'snapshot', 'snapshot'])
  })

  test('hears log lines only when it asks, and only those it asks for', () => {
    const { open, facts } = house()
    const socket = open()
    const told = () => socket.frames.filter(({ type }) => type === 'log').map(({ data }) => data.message)
    facts.publish('log', line('unasked'))
    socket.says({
      type: 'subscribe',
      topics: ['log'],
      server_ids: ['a'],
      filter: { level: 'warn', search: 'DISK' },
    })
    facts.publish('log', line('the disk is full', { level: 'error' }))
    facts.publish('log', line('the disk is full'))
    facts.publish('log', line('another', { level: 'error' }))
    facts.publish('log', line('a disk elsewhere', { level: 'error', server_id: 'b' }))
    socket.says({ type: 'subscribe', topics: ['log'], filter: { stream: ['stderr'], source: ['server'] } })
    facts.publish('log', line('to stderr', { stream: 'stderr' }))
    facts.publish('log', line('to stdout', { stream: 'stdout' }))
    socket.says({ type: 'unsubscribe', topics: ['log'] })
    facts.publish('log', line('afterwards'))
    expect(told()).toEqual(['the disk is full', 'to stderr'])
  })

  test('may leave topics out, and listen to some servers only', () => {
    const { open, happens, facts } = house()
    const socket = open()
    socket.says({ type: 'unsubscribe', topics: ['server_added'] })
    socket.says({ type: 'subscribe', topics: ['server_status'], server_ids: ['a'] })
    facts.publish('server_added', { server_id: 'a', type: 'stdio' })
    facts.publish('server_removed', { server_id: 'b', type: 'stdio' })
    happens('a')
    happens('b')
    expect(socket.types().slice(2)).toEqual(['server_removed', 'server_status'])
  })

  test.each([
    ['{', 'not valid JSON'],
    [{ type: 'shout' }, 'type must be one of'],
    [{ type: 'subscribe', topics: ['nothing'] }, 'topics'],
    [{ type: 'subscribe', topics: [] }, 'topics'],
    [{ type: 'resume', last_event: '1' }, 'last_event'],
    [{ type: 'ping', more: 1 }, 'more is not a known field'],
    ['null', 'type must be one of'],
  ])('that says %j is told what is wrong, and stays', (message, words) => {
    const { open, happens } = house()
    const socket = open()
    socket.says(message)
    happens('a')
    expect(socket.frames[2]).toMatchObject({ type: 'error', data: { code: 'invalid_message' } })
    expect(String(socket.frames[2]?.data.message)).toContain(words)
    expect(socket.types().at(-1)).toBe('server_status')
  })

  test('that sends bytes, or too much, is let go', () => {
    const { open } = house()
    const bytes = open()
    bytes.says(null)
    expect(bytes.closed?.code).toBe(1003)
    const busy = open()
    for (let n = 0; n < 60; n += 1) busy.says({ type: 'ping' })
    expect(busy.closed?.code).toBe(1008)
  })

  test('that does not read is spared what comes again, told how much, and let go at a megabyte', () => {
    const { open, facts, happens } = house()
    const socket = open()
    socket.says({ type: 'subscribe', topics: ['log'] })
    socket.reads = false
    const long = 'x'.repeat(10_000)
    for (let n = 0; n < 100; n += 1) facts.publish('log', line(long))
    expect(socket.unsentBytes).toBeLessThan(300 * 1024)
    expect(socket.closed).toBeUndefined()
    const sent = socket.frames.filter(({ type }) => type === 'log').length
    socket.reads = true
    socket.unsentBytes = 0
    happens('a')
    expect(socket.frames.slice(-2)).toMatchObject([
      { type: 'dropped', data: { frames: 100 - sent } },
      { type: 'server_status' },
    ])
    expect(socket.frames.map(({ seq }) => seq)).toEqual(socket.frames.map((_, index) => index + 1))
    socket.reads = false
    for (let n = 0; n < 20_000 && !socket.closed; n += 1) happens(`server-${n}`)
    expect(socket.closed?.code).toBe(1013)
    expect(socket.unsentBytes).toBeLessThan(1.1 * 1024 * 1024)
  })
})
