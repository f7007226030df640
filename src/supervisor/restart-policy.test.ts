import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RestartRules } from '../kernel/server-plan.ts'
import { type EndedRun, type ProcessEnd, restartAfter } from './restart-policy.ts'

const crash: ProcessEnd = { kind: 'exit', code: 1 }
const done: ProcessEnd = { kind: 'exit', code: 0 }
const killed: ProcessEnd = { kind: 'signal', signal: 'SIGKILL' }
const neverReady: ProcessEnd = { kind: 'never_ready' }
const pipeClosed: ProcessEnd = { kind: 'pipe_closed' }

const rules: RestartRules = { policy: 'on_failure', max_delay_s: 300 }
const quick: EndedRun = { end: crash, ranMs: 0, failuresInRow: 0, startsMsAgo: [], random: 0.5 }

test.each<[RestartRules['policy'], ProcessEnd, 'stop' | 'retry']>([
  ['on_failure', crash, 'retry'],
  ['on_failure', { kind: 'exit', code: 137 }, 'retry'],
  ['on_failure', done, 'stop'],
  ['on_failure', killed, 'retry'],
  ['on_failure', neverReady, 'retry'],
  ['on_failure', pipeClosed, 'retry'],
  ['always', crash, 'retry'],
  ['always', done, 'retry'],
  ['always', killed, 'retry'],
  ['always', neverReady, 'retry'],
  ['always', pipeClosed, 'retry'],
  ['never', crash, 'stop'],
  ['never', done, 'stop'],
  ['never', killed, 'stop'],
  ['never', neverReady, 'stop'],
  ['never', pipeClosed, 'stop'],
])('with the policy %s, the end %j leads to %s', (policy, end, kind) => {
  expect(restartAfter({ ...rules, policy }, { ...quick, end }).kind).toBe(kind)
})

test.each<[string, Partial<EndedRun>, number, number]>([
  ['the first quick failure', {}, 1000, 1],
  ['the second quick failure', { failuresInRow: 1 }, 2000, 2],
  ['the third quick failure', { failuresInRow: 2 }, 4000, 3],
  ['the fourth quick failure', { failuresInRow: 3 }, 8000, 4],
  ['the fifth quick failure', { failuresInRow: 4 }, 16_000, 5],
  ['the sixth quick failure', { failuresInRow: 5 }, 300_000, 6],
  ['the hundredth quick failure', { failuresInRow: 99 }, 300_000, 100],
  ['a failure with the lowest random number', { random: 0 }, 800, 1],
  ['a failure with the highest random number', { random: 0.999999 }, 1200, 1],
  ['the sixth failure with the lowest random number', { failuresInRow: 5, random: 0 }, 300_000, 6],
  ['a first crash soon after the handshake', { ranMs: 5 }, 0, 1],
  ['a second crash just under 10 s of running', { ranMs: 9999, failuresInRow: 1 }, 2000, 2],
  ['10 s of running', { ranMs: 10_000 }, 0, 1],
  ['10 s of running after many failures', { ranMs: 10_000, failuresInRow: 7 }, 0, 8],
  ['just under 5 min of running', { ranMs: 299_999, failuresInRow: 7 }, 0, 8],
  ['5 min of running', { ranMs: 300_000, failuresInRow: 7 }, 0, 1],
  ['a minute without a handshake', { end: neverReady, ranMs: 60_000 }, 1000, 1],
  ['a closed pipe after 10 s', { end: pipeClosed, ranMs: 10_000 }, 0, 1],
])('after %s, the restart delay is right', (_, ending, delayMs, attempt) => {
  expect(restartAfter(rules, { ...quick, ...ending })).toEqual({ kind: 'retry', delayMs, attempt })
})

test.each([
  [0, 0.5, 3, 1000],
  [2, 0.5, 3, 3000],
  [2, 0, 3, 3000],
  [9, 0.5, 3, 3000],
])(
  'after %i failures with the random number %d and a maximum of %i s, the delay is %i ms',
  (failuresInRow, random, max_delay_s, delayMs) => {
    const found = restartAfter({ ...rules, max_delay_s }, { ...quick, failuresInRow, random })
    expect(found).toMatchObject({ delayMs })
  },
)

describe('start limit', () => {
  const atOnce = { policy: 'always', max_delay_s: 300 } as const

  test('a server that exits at once starts 6 times in 60 s and then every 5 minutes', () => {
    const starts = startsOf(rules, { runs: () => 0, draw: () => 0 }, 3_600_000)
    expect(mostIn60s(starts)).toBe(6)
    const [sixth = 0, ...later] = starts.slice(5, 9)
    expect(later.map((start) => start - sixth)).toEqual([300_000, 600_000, 900_000])
  })

  test('a server that runs just long enough for an immediate restart starts at most 6 times in 60 s', () => {
    expect(mostIn60s(startsOf(rules, { runs: () => 10_000, draw: () => 0 }, 3_600_000))).toBe(6)
  })

  test('a server with a maximum delay of 1 s starts at most 6 times in 60 s', () => {
    const starts = startsOf({ ...atOnce, max_delay_s: 1 }, { runs: () => 0, draw: () => 0 }, 3_600_000)
    expect(mostIn60s(starts)).toBe(6)
  })

  test('a server with any mixture of runs starts at most 6 times in 60 s', () => {
    const run = fc.oneof(fc.constantFrom(0, 9999, 10_000, 60_000, 300_000), fc.nat({ max: 320_000 }))
    const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    const lives = fc.array(fc.tuple(run, draw), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(lives, fc.integer({ min: 1, max: 3600 }), (each, max_delay_s) => {
        const at = (index: number) => each[index % each.length] ?? [0, 0]
        const life = { runs: (index: number) => at(index)[0], draw: (index: number) => at(index)[1] }
        expect(mostIn60s(startsOf({ ...atOnce, max_delay_s }, life, 3_600_000))).toBeLessThanOrEqual(6)
      }),
    )
  })
})

interface Life {
  readonly runs: (start: number) => number
  readonly draw: (start: number) => number
}

/** The times of all starts until `untilMs`. */
function startsOf(restart: RestartRules, { runs, draw }: Life, untilMs: number): number[] {
  const starts: number[] = []
  let failuresInRow = 0
  for (let now = 0; now < untilMs; ) {
    const ranMs = runs(starts.length)
    const random = draw(starts.length)
    starts.push(now)
    now += ranMs
    const startsMsAgo = starts.slice(-10).map((start) => now - start)
    const next = restartAfter(restart, { end: crash, ranMs, failuresInRow, startsMsAgo, random })
    if (next.kind === 'stop') return starts
    now += next.delayMs
    failuresInRow = next.attempt
  }
  return starts
}

function mostIn60s(starts: readonly number[]): number {
  return Math.max(
    ...starts.map((from) => starts.filter((start) => start >= from && start < from + 60_000).length),
  )
}
