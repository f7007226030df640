import fc from 'fast-check'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { FactBus } from '../../kernel/fact-bus.ts'
import type { LogEntry } from '../../kernel/log.ts'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { LogPipeline } from './log-pipeline.ts'
import type { StoredEntry } from './log-store.ts'
import { ServerLines } from './server-lines.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

const RULES = { ratePerS: 10, burst: 5 }

/** Server lines and a log that accepts them while `log.accepts` is true. */
function lines(rules = RULES) {
  const written: (LogEntry & { readonly repeat: number })[] = []
  const log = { accepts: true }
  const servers = new ServerLines({
    push: (entry, repeat) => log.accepts && written.push({ ...entry, repeat }) > 0,
    now: () => 7,
    rules,
  })
  const write = (text: string, server_id = 's', cut = 0) =>
    servers.add({ server_id, stream: 'stderr', text, cut })
  const messages = () => written.map(({ message }) => message)
  return { servers, write, log, written, messages }
}

test('a line is written at once with its server, its stream and the level detected from its text', () => {
  const { write, written } = lines()
  write('[warn] cold')
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

test('an empty line is ignored unless its whole text was cut', () => {
  const { write, servers, written } = lines()
  write('')
  write('', 's', 12)
  expect(written).toMatchObject([{ message: '', cut: 12 }])
  expect(servers.dropped('s')).toBe(0)
})

test('repeats and drops are written as lines once a second', () => {
  const { write, messages, written } = lines()
  for (let n = 0; n < 8; n += 1) write(`line ${n}`)
  for (let n = 0; n < 3; n += 1) write('again', 'other')
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

test('each server has its own rate limit, and a deleted server that returns starts with a fresh one', () => {
  const { write, servers, messages } = lines()
  for (let n = 0; n < 8; n += 1) write(`line ${n}`)
  write('quiet', 'other')
  expect(messages()).toEqual(['line 0', 'line 1', 'line 2', 'line 3', 'line 4', 'quiet'])
  expect(servers.dropped('s')).toBe(3)
  expect(servers.dropped('other')).toBe(0)
  servers.forget('s')
  expect(servers.dropped('s')).toBe(0)
  write('back')
  expect(messages().at(-1)).toBe('back')
  expect(servers.dropped('s')).toBe(0)
})

test('a line that the log does not accept counts as dropped and is reported once the log accepts lines again', () => {
  const { write, servers, log, messages } = lines()
  log.accepts = false
  write('one')
  vi.advanceTimersByTime(1000)
  write('two')
  vi.advanceTimersByTime(3000)
  expect(messages()).toEqual([])
  expect(servers.dropped('s')).toBe(2)
  log.accepts = true
  vi.advanceTimersByTime(1000)
  expect(messages()).toEqual(['2 lines were dropped because there were too many'])
})

test('a line that was accepted but could not be stored counts as dropped', () => {
  const { write, servers, messages } = lines()
  for (let n = 0; n < 4; n += 1) write('same')
  servers.flush()
  servers.lost('s', 3)
  servers.lost('unknown', 1)
  expect(servers.dropped('s')).toBe(3)
  vi.advanceTimersByTime(1000)
  expect(messages().at(-1)).toMatch(/^3 lines were dropped/)
})

test('with a slow and failing store, every line is either stored, part of a repeat count, or counted as dropped', async () => {
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
        const store = new FaultyStore()
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
            // The same line three times, then two new ones: some lines fold, and the rest exceeds the rate.
            for (let n = 0; n < each.times; n += 1)
              servers.add({
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
        const reported = store.lines
          .filter(({ stream }) => !stream)
          .map(({ message }) => Number.parseInt(message, 10))
        const dropped = servers.dropped('s')
        expect(dropped).toBe(sent - shown.length - folded)
        expect(reported.reduce((sum, lines) => sum + lines, 0)).toBe(dropped)
      },
    ),
    { numRuns: 100 },
  )
})

class FaultyStore {
  readonly maxBatchBytes = 64 * 1024
  readonly lines: StoredEntry[] = []
  #works = true
  #gate = Promise.resolve()
  #open = () => {}

  async append(lines: readonly StoredEntry[]): Promise<number> {
    await this.#gate
    if (!this.#works) throw new Error('no')
    this.lines.push(...lines)
    return this.lines.length - lines.length + 1
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
