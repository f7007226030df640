import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { figure } from './support/figure.ts'
import { expectLinear } from './support/linear.ts'
import { type Moment, ownMs, stopwatch, type Thread } from './support/measuring.ts'

const WORK_MS = 200
const TICK_MS = 10 // of /proc/<pid>/stat

/** Keeps this thread busy until a clock of its CPU time has gone on by `ms`, however long that takes. */
function work(ms: number, cpuMs = processMs): number {
  const before = cpuMs()
  while (cpuMs() - before < ms);
  return cpuMs() - before
}

/** Counts other threads of this process, too. */
function processMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Of this thread alone, on Linux. */
function threadMs(): number {
  const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8')
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number)
  return (user + system) * TICK_MS
}

/** Processes that take every core, and end by themselves. A shell starts sooner than Node. */
async function crowd(): Promise<void> {
  const children = Array.from({ length: 3 * availableParallelism() }, () =>
    spawn('timeout', ['10', 'sh', '-c', 'echo; while :; do :; done']),
  )
  onTestFinished(() => children.forEach((child) => void child.kill('SIGTERM')))
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data'))) // they run
}

describe.runIf(process.platform === 'linux')('limits on a busy machine', () => {
  test('the time of our own code is its CPU time, even if other processes take the CPU most of the time', async () => {
    await crowd()
    const [startedAt, spent] = [performance.now(), stopwatch()]
    const usedMs = work(WORK_MS, threadMs)
    const [ownMs, wallMs] = [spent(), performance.now() - startedAt]
    expect(wallMs, 'the machine is busy').toBeGreaterThan(1.3 * usedMs)
    expect(ownMs).toBeGreaterThan(0.8 * usedMs)
    expect(ownMs).toBeLessThan(1.3 * usedMs)
  })

  test('the work of a service counts while a request waits for it', async () => {
    const script = `process.stdin.on('data', () => { const t = process.cpuUsage(); const ms = () => { const { user, system } = process.cpuUsage(t); return (user + system) / 1000 }; while (ms() < ${WORK_MS}); process.stdout.write('done') })`
    const service = spawn(process.execPath, ['-e', script])
    onTestFinished(() => void service.kill('SIGKILL'))
    service.stdin.write('once')
    await new Promise((resolve) => service.stdout.once('data', resolve)) // it is ready
    await crowd()
    const spent = stopwatch(service.pid)
    service.stdin.write('again')
    await new Promise((resolve) => service.stdout.once('data', resolve))
    expect(spent()).toBeGreaterThan(0.8 * WORK_MS)
  })
})

/** The counters after a second in which the test and its service did almost nothing, and waited for a CPU this long. */
const asleep = (ownWaitMs: number, serviceWaitMs: number, ...others: readonly number[]): Moment => ({
  at: 1000,
  threads: new Map<string, Thread>([
    ['1/1', { of: 'test', cpuMs: 5, waitedMs: ownWaitMs }],
    ['2/2', { of: 'service', cpuMs: 0, waitedMs: serviceWaitMs }],
    ...others.map((waitedMs, n): [string, Thread] => [`2/${n + 3}`, { of: 'other', cpuMs: 0, waitedMs }]),
  ]),
})

test.each([
  [[0, 0], 1000],
  [[100, 200], 700],
  [[900, 900], 5],
  [[100, 200, 300], 400],
  [[100, 200, 300, 300, 300], 400],
])(
  'a sleep of 1 s counts without the waits for a CPU of threads that follow each other, and with those of threads beside them: %j ms',
  ([own = 0, service = 0, ...others], counted) => {
    expect(ownMs({ at: 0, threads: new Map() }, asleep(own, service, ...others))).toBe(counted)
  },
)

test('work that takes quadratic time fails a test that expects linear time', () => {
  const size = { small: 40, large: 160 }
  expect(() => expectLinear((which) => work(size[which]))).not.toThrow()
  expect(() => expectLinear((which) => work(size[which] ** 2 / 160))).toThrow('for 4 times as much')
})

test('a figure beyond its limit fails its test', () => {
  expect(() => figure('R0', 'a figure of this test', 3, { most: 2 })).toThrow('must be at most 2')
  expect(() => figure('R0', 'a figure of this test', 1, { least: 2 })).toThrow('must be at least 2')
  expect(() => figure('R0', 'a figure of this test', 1, { exactly: 2 })).toThrow('must be exactly 2')
  expect(() => figure('R0', 'a figure of this test', 2, { most: 2 })).not.toThrow()
})
