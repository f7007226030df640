import fc from 'fast-check'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { FactBus } from '../kernel/facts.ts'
import type { LogEntry } from '../kernel/log.ts'
import { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { StoredEntry } from './log-store.ts'
import { LogPipeline } from './pipeline.ts'
import { ServerLines } from './server-lines.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

const RULES = { ratePerS: 10, burst: 5 }

/** Lines of servers, and a log that takes them as long as `takes` is true. */
function lines(rules = RULES) {
  const written: (LogEntry & { readonly repeat: number })[] = []
  const log = { takes: true }
  const servers = new ServerLines({
    push: (entry, repeat) => log.takes && written.push({ ...entry, repeat }) > 0,
    now: () => 7,
    rules,
  })
  const say = (text: string, server_id = 's', cut = 0) =>
    servers.heard({ server_id, stream: 'stderr', text, cut })
  const messages = () => written.map(({ message }) => message)
  return { servers, say, log, written, messages }
}

test('a line is written at once, with its server, its stream and a level by what it says', () => {
  const { say, written } = lines()
  say('[warn] cold')
  expect(written).toEqual([
    {
      ts: 7,
      level: 'warn',
      source: 'server',
      stream: 'stderr',
      server_id: 's',
      message: '[warn] cold',
      repeat: 1,
    },
  ])
})

test('an empty line is no line, unless all of it was cut', () => {
  const { say, servers, written } = lines()
  say('')
  say('', 's', 12)
  expect(written).toMatchObject([{ message: '', cut: 12 }])
  expect(servers.counts('s')).toMatchObject({ sent: 1, stored: 1 })
})

test('once a second repeats become a line, and so does the number of those that were too many', () => {
  const { say, messages, written } = lines()
  for (let n = 0; n < 8; n += 1) say(`line ${n}`)
  for (let n = 0; n < 3; n += 1) say('again', 'other')
  expect(messages()).toHaveLength(6)
  vi.advanceTimersByTime(1000)
  expect(written.slice(6)).toMatchObject([
    {
      source: 'server',
      server_id: 's',
      level: 'warn',
      message: expect.stringMatching(/^3 lines were dropped/),
    },
    { server_id: 'other', message: 'again', repeat: 2 },
  ])
  vi.advanceTimersByTime(5000)
  expect(written).toHaveLength(8)
})

test('each server has a gate of its own, and one that was deleted begins anew', () => {
  const { say, servers } = lines()
  for (let n = 0; n < 8; n += 1) say(`line ${n}`)
  say('quiet', 'other')
  expect(servers.counts('s')).toEqual({ sent: 8, stored: 5, folded: 0, dropped: 3 })
  expect(servers.counts('other')).toEqual({ sent: 1, stored: 1, folded: 0, dropped: 0 })
  servers.forget('s')
  expect(servers.counts('s')).toBeUndefined()
  say('back')
  expect(servers.counts('s')).toMatchObject({ sent: 1, stored: 1 })
})

test('what the log cannot take is dropped and counted, and said as soon as it can', () => {
  const { say, servers, log, messages } = lines()
  log.takes = false
  say('one')
  vi.advanceTimersByTime(1000)
  say('two')
  vi.advanceTimersByTime(3000)
  expect(servers.counts('s')).toEqual({ sent: 2, stored: 0, folded: 0, dropped: 2 })
  log.takes = true
  vi.advanceTimersByTime(1000)
  expect(messages()).toEqual(['2 lines were dropped because there were too many'])
})

test('a line that was taken and then lost is dropped after all', () => {
  const { say, servers, messages } = lines()
  for (let n = 0; n < 4; n += 1) say('same')
  servers.flush()
  servers.lost('s', 3)
  servers.lost('nobody', 1)
  expect(servers.counts('s')).toEqual({ sent: 4, stored: 1, folded: 0, dropped: 3 })
  vi.advanceTimersByTime(1000)
  expect(messages().at(-1)).toMatch(/^3 lines were dropped/)
})

test('stored + folded + dropped = sent, as the log has it, with a store that is slow and fails', async () => {
  vi.useRealTimers()
  const event = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({
        text: fc.constantFrom('a', 'b', 'c', 'd'),
        times: fc.integer({ min: 1, max: 3000 }),
      }),
    },
    { weight: 15, arbitrary: fc.constantFrom('flush', 'fails', 'works', 'waits', 'goes on') },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 60 }),
      fc.constantFrom(500, 30_000),
      async (events, burst) => {
        const store = new OddStore()
        const servers: ServerLines = new ServerLines({
          push: (entry, repeat) => pipeline.push(entry, repeat),
          now: () => 7,
          rules: { ratePerS: 1000, burst },
        })
        const pipeline = new LogPipeline({
          store,
          secrets: new KnownSecrets(),
          facts: new FactBus(() => {}),
          now: () => 7,
          onLost: (lost) => {
            for (const { source, repeat } of lost) if (source === 'server') servers.lost('s', repeat)
          },
        })
        let sent = 0
        for (const each of events) {
          if (each === 'flush') {
            servers.flush()
            void pipeline.flush()
          } else if (typeof each === 'string') await store.become(each)
          else {
            sent += each.times
            // Three times the same line, then two that are new: they fold, and they flood.
            for (let n = 0; n < each.times; n += 1)
              servers.heard({
                server_id: 's',
                stream: 'stderr',
                text: n % 5 < 3 ? each.text : `${n}`,
                cut: 0,
              })
          }
        }
        await store.become('works')
        await store.become('goes on')
        for (let round = 0; round < 3; round += 1) {
          servers.flush()
          await pipeline.flush()
        }
        const shown = store.lines.filter(({ stream }) => stream === 'stderr')
        const folded = shown.reduce((sum, { repeat }) => sum + repeat - 1, 0)
        const said = store.lines
          .filter(({ stream }) => !stream)
          .map(({ message }) => Number.parseInt(message, 10))
        const counts = servers.counts('s') ?? { sent: 0, stored: 0, folded: 0, dropped: 0 }
        expect(counts).toEqual({ sent, stored: shown.length, folded, dropped: sent - shown.length - folded })
        expect(said.reduce((sum, lines) => sum + lines, 0)).toBe(counts.dropped)
      },
    ),
    { numRuns: 100 },
  )
}, 60_000)

class OddStore {
  readonly atOnceBytes = 64 * 1024
  readonly lines: StoredEntry[] = []
  #works = true
  #gate = Promise.resolve()
  #open = () => {}

  async append(lines: readonly StoredEntry[]): Promise<void> {
    await this.#gate
    if (!this.#works) throw new Error('no')
    this.lines.push(...lines)
  }

  async become(what: 'flush' | 'fails' | 'works' | 'waits' | 'goes on'): Promise<void> {
    if (what === 'fails' || what === 'works') this.#works = what === 'works'
    this.#open()
    if (what === 'waits') {
      this.#gate = new Promise((resolve) => {
        this.#open = resolve
      })
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}
