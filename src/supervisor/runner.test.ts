import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../test/support/full-or-short.ts'
import { leftAfter, processesOf, showsMarks } from '../../test/support/marked-processes.ts'
import { pidOf, runnerOf } from '../../test/support/test-runner.ts'
import { errnoOf } from './platform/unix/signals.ts'
import { StartSlots } from './start-slots.ts'

const IS_WINDOWS = process.platform === 'win32'
/** Windows has no signals: a program that ends another one chooses the exit code. */
const KILLED = IS_WINDOWS ? { code: 1, signal: null } : { code: null, signal: 'SIGKILL' }

describe('start and stop', () => {
  test('a server is running after the handshake and leaves no process after a stop', async () => {
    const { runner, mark, statuses, watched } = runnerOf('echo')
    expect(await runner.start()).toEqual({ ok: true })
    expect(runner.state).toMatchObject({ status: 'running', pid: (await processesOf(mark))[0] })
    if (showsMarks) expect(watched.size).toBe(1)
    await runner.stop()
    expect(statuses()).toEqual(['starting', 'running', 'stopping', 'stopped'])
    expect(await leftAfter(mark)).toBe(0)
    expect(watched.size).toBe(0)
  })

  test('fifty concurrent starts create one process, and redundant starts and stops have no effect', async () => {
    const { runner, mark, statuses } = runnerOf('echo')
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => runner.start()))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(await processesOf(mark)).toHaveLength(1)
    await runner.start()
    await Promise.all([runner.stop(), runner.stop()])
    await runner.stop()
    expect(statuses()).toEqual(['starting', 'running', 'stopping', 'stopped'])
  })

  test('a server that ignores SIGTERM is stopped together with its children', async () => {
    const { runner, mark } = runnerOf('setsid')
    await runner.start()
    await expect.poll(async () => (await processesOf(mark)).length).toBeGreaterThan(3)
    await runner.stop()
    expect(await leftAfter(mark)).toBe(0)
  })

  test('a server can be stopped while it starts and started while it stops', async () => {
    const { runner, mark } = runnerOf('slow-handshake', { args: ['1500'] })
    const started = runner.start()
    await sleep(150)
    const stopped = runner.stop()
    expect(await started).toMatchObject({ ok: false, error: { code: 'stopped' } })
    await stopped
    expect(runner.state).toEqual({ status: 'stopped' })
    expect(await leftAfter(mark)).toBe(0)

    const echo = runnerOf('echo')
    await echo.runner.start()
    const down = echo.runner.stop()
    expect(await echo.runner.start()).toEqual({ ok: true })
    await down
    expect(echo.runner.state.status).toBe('running')
    await expect.poll(async () => (await processesOf(echo.mark)).length).toBe(1)
  })
})

describe('failed start', () => {
  test.each([
    ['an unknown command', { command: 'no-such-program-anywhere' }, 'command_not_found'],
    ['a missing folder', { command: 'node', cwd: '/does/not/exist' }, 'cwd_not_found'],
    [
      'a file that is not a program',
      { command: fileURLToPath(new URL('./runner.ts', import.meta.url)) },
      'not_executable',
    ],
  ])('a start with %s fails and is not retried', async (_, options, code) => {
    const { runner, statuses } = runnerOf('echo', options)
    expect(await runner.start()).toMatchObject({ ok: false, error: { code } })
    expect(runner.state).toMatchObject({ status: 'failed', error: { code } })
    await sleep(50)
    expect(statuses()).toEqual(['starting', 'failed'])
    await runner.stop()
    expect(runner.state.status).toBe('stopped')
  })

  test('a server that exits during its start is explained and retried', async () => {
    const { runner } = runnerOf('crash')
    expect(await runner.start()).toMatchObject({ ok: false, error: { code: 'exited' } })
    expect(runner.state).toMatchObject({ status: 'backoff', attempt: 1 })
  })

  test('a server that exits for want of a setting has failed and is not retried', async () => {
    const { runner } = runnerOf('noenv')
    const outcome = await runner.start()
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: 'missing_setting', message: expect.stringMatching(/exited with code 1 .*API_KEY/) },
    })
    expect(runner.state).toMatchObject({ status: 'failed', error: { code: 'missing_setting' } })
    expect(runner.recentExits[0]).toMatchObject({ code: 1, signal: null })
    await runner.stop()
    expect(runner.state.status).toBe('stopped')
  })

  test('the exit of a server explains a failed start, also when its output was closed long before', async () => {
    const { runner } = runnerOf('crash', { args: ['--after=700'] })
    expect(await runner.start()).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/exited with code 1 .*the index is broken/) },
    })
    await runner.stop()
  })

  test('a failed start with the policy never is not retried', async () => {
    const { runner, statuses } = runnerOf('crash', { rules: { policy: 'never', max_delay_s: 300 } })
    await runner.start()
    expect(statuses()).toEqual(['starting', 'stopped'])
  })

  test('an on-demand server that fails to start with the policy never is asleep again, with its error', async () => {
    const rules = { policy: 'never', max_delay_s: 300 } as const
    const { runner, statuses } = runnerOf('crash', { rules, sleeps: true })
    const { ok } = await runner.start()
    expect(ok).toBe(false)
    expect(statuses()).toEqual(['starting', 'idle'])
    expect(runner.lastError).toMatchObject({ code: 'exited' })
  })

  test('a start without a handshake ends the process', async () => {
    const { runner, mark } = runnerOf('not-mcp', { startMs: 200 })
    expect(await runner.start()).toMatchObject({ ok: false, error: { code: 'start_timeout' } })
    expect(runner.state.status).toBe('backoff')
    expect(await leftAfter(mark)).toBe(0)
  })
})

describe('restart', () => {
  test('a killed server is in backoff, and a start by a user does not wait for the delay', async () => {
    const { runner, statuses } = runnerOf('echo')
    await runner.start()
    const first = pidOf(runner)
    process.kill(first, 'SIGKILL') // the first crash is retried at once
    await expect.poll(() => runner.isConnected && pidOf(runner) !== first).toBe(true)
    const second = pidOf(runner)
    process.kill(second, 'SIGKILL')
    await expect.poll(() => runner.state.status).toBe('backoff')
    expect(runner.recentExits[0]).toMatchObject(KILLED)
    expect(await runner.start()).toEqual({ ok: true })
    expect(runner.state).not.toMatchObject({ pid: second })
    expect(runner.restartCount).toBe(2)
    const once = ['backoff', 'starting', 'running']
    expect(statuses()).toEqual(['starting', 'running', ...once, ...once])
  })

  test('a start by a user during the backoff resets the count of failures, and with it the delay', async () => {
    const { runner } = runnerOf('crash')
    await runner.start()
    await expect.poll(() => runner.state).toMatchObject({ status: 'backoff', attempt: 2 })
    await runner.start()
    expect(runner.state).toMatchObject({ status: 'backoff', attempt: 1 })
  })

  test('a stop during the backoff prevents the restart', async () => {
    const { runner, mark } = runnerOf('crash')
    await runner.start()
    expect(runner.state.status).toBe('backoff')
    await runner.stop()
    await sleep(1300)
    expect(runner.state.status).toBe('stopped')
    expect(await processesOf(mark)).toEqual([])
  })
})

test.each([
  ['a stop and a start', true],
  ['a start', false],
])('%s during the end of a crashed process leads to a new one', async (_, isStopped) => {
  let complete = () => {}
  const completed = new Promise<void>((resolve) => {
    complete = resolve
  })
  const rules = { policy: 'never', max_delay_s: 1 } as const
  const { runner, mark } = runnerOf('echo', { rules, beforeEnd: () => completed })
  await runner.start()
  const first = pidOf(runner)
  process.kill(first, 'SIGKILL')
  await expect.poll(() => runner.isConnected).toBe(false)
  const stopped = isStopped ? runner.stop() : Promise.resolve()
  const started = runner.start()
  complete()
  await stopped
  expect(await started).toEqual({ ok: true })
  expect(pidOf(runner)).not.toBe(first)
  await runner.stop()
  expect(await leftAfter(mark)).toBe(0)
})

/** It may have ended by itself, which the runner does not know yet. */
function killAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error
  }
}

test('for any sequence of starts, stops and kills there are never two processes, and the last request wins', async () => {
  const requests = fc.array(fc.tuple(fc.constantFrom('start', 'stop', 'kill'), fc.nat(60)), {
    minLength: 3,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(requests, fc.constantFrom('echo', 'deaf'), async (steps, kind) => {
      const { runner, mark } = runnerOf(kind, { slots: new StartSlots(1, 2000) })
      const pending: Promise<unknown>[] = []
      let most = 0
      for (const [request, pauseMs] of [...steps, ['start', 0] as const]) {
        if (request === 'start') pending.push(runner.start())
        else if (request === 'stop') pending.push(runner.stop())
        else if (runner.state.status === 'running') killAtOnce(pidOf(runner))
        most = Math.max(most, (await processesOf(mark)).length)
        await sleep(pauseMs)
      }
      await Promise.all(pending)
      // The end of a killed process is noticed a moment later. Then it waits for its restart.
      const atTheEnd = async () => {
        if (runner.state.status === 'backoff') await runner.start()
        return [runner.state.status, (await processesOf(mark)).length]
      }
      await expect.poll(atTheEnd).toEqual(['running', 1])
      expect(most).toBeLessThanOrEqual(1)
      await runner.stop()
      expect(runner.state.status).toBe('stopped')
      expect(await leftAfter(mark)).toBe(0)
    }),
    { numRuns: runs(10, 200), endOnFailure: true },
  )
})
