import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { leftAfter } from '../../test/support/marked.ts'
import { runnerOf } from '../../test/support/runner.ts'
import { processesMarked } from './process/process-table.ts'
import { StartSlots } from './start-slots.ts'

const describeLinux = describe.runIf(process.platform === 'linux')

describeLinux('a server', () => {
  test('runs after the handshake, and is gone after the stop', async () => {
    const { runner, mark, statuses, watched } = runnerOf('echo')
    expect(await runner.start()).toEqual({ ok: true })
    expect(runner.state).toMatchObject({ status: 'running', pid: processesMarked(mark)[0]?.pid })
    expect(watched.size).toBe(1)
    await runner.stop()
    expect(statuses()).toEqual(['starting', 'running', 'stopping', 'stopped'])
    expect(await leftAfter(mark, 200)).toBe(0)
    expect(watched.size).toBe(0)
  })

  test('that is started fifty times at once is one process, and a start or stop too many does nothing', async () => {
    const { runner, mark, statuses } = runnerOf('echo')
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => runner.start()))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(processesMarked(mark)).toHaveLength(1)
    await runner.start()
    await Promise.all([runner.stop(), runner.stop()])
    await runner.stop()
    expect(statuses()).toEqual(['starting', 'running', 'stopping', 'stopped'])
  })

  test('that ignores everything is stopped with its children', async () => {
    const { runner, mark } = runnerOf('setsid')
    await runner.start()
    expect(processesMarked(mark).length).toBeGreaterThan(3)
    await runner.stop()
    expect(await leftAfter(mark, 200)).toBe(0)
  })

  test('is stopped while it starts, and started while it stops', async () => {
    const { runner, mark } = runnerOf('slow-handshake', { args: ['1500'] })
    const started = runner.start()
    await sleep(150)
    const stopped = runner.stop()
    expect(await started).toMatchObject({ ok: false, error: { code: 'stopped' } })
    await stopped
    expect(runner.state).toEqual({ status: 'stopped' })
    expect(await leftAfter(mark, 200)).toBe(0)

    const echo = runnerOf('echo')
    await echo.runner.start()
    const down = echo.runner.stop()
    expect(await echo.runner.start()).toEqual({ ok: true })
    await down
    expect(echo.runner.state.status).toBe('running')
    expect(processesMarked(echo.mark)).toHaveLength(1)
  })
})

describeLinux('a start that fails', () => {
  test.each([
    ['an unknown command', { command: 'no-such-program-anywhere' }, 'command_not_found'],
    ['a missing folder', { command: 'node', cwd: '/does/not/exist' }, 'cwd_not_found'],
    [
      'a file that is no program',
      { command: fileURLToPath(new URL('./runner.ts', import.meta.url)) },
      'not_executable',
    ],
  ])('for %s waits for a person', async (_, options, code) => {
    const { runner, statuses } = runnerOf('echo', options)
    expect(await runner.start()).toMatchObject({ ok: false, error: { code } })
    expect(runner.state).toMatchObject({ status: 'failed', error: { code } })
    await sleep(50)
    expect(statuses()).toEqual(['starting', 'failed'])
    await runner.stop()
    expect(runner.state.status).toBe('stopped')
  })

  test('because the server ends at once says why and is tried again later', async () => {
    const { runner } = runnerOf('noenv')
    const outcome = await runner.start()
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: 'missing_setting', message: expect.stringMatching(/exit code 1 .*API_KEY/) },
    })
    expect(runner.state).toMatchObject({ status: 'backoff', attempt: 1 })
    expect(runner.lastExit).toMatchObject({ code: 1, signal: null })
    await runner.stop()
    expect(runner.state.status).toBe('stopped')
  })

  test('under the policy never is not tried again', async () => {
    const { runner, statuses } = runnerOf('crash', { rules: { policy: 'never', max_delay_s: 300 } })
    await runner.start()
    expect(statuses()).toEqual(['starting', 'stopped'])
  })

  test('for want of a handshake ends the process', async () => {
    const { runner, mark } = runnerOf('not-mcp', { startMs: 200 })
    expect(await runner.start()).toMatchObject({ ok: false, error: { code: 'start_timeout' } })
    expect(runner.state.status).toBe('backoff')
    expect(await leftAfter(mark, 200)).toBe(0)
  })
})

describeLinux('a server that falls', () => {
  test('rises again by itself, and a person need not wait for it', async () => {
    const { runner, statuses } = runnerOf('echo')
    await runner.start()
    const first = runner.state.status === 'running' ? runner.state.pid : 0
    process.kill(first, 'SIGKILL')
    for (let n = 0; n < 50 && runner.state.status !== 'backoff'; n += 1) await sleep(10)
    expect(runner.lastExit).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await runner.start()).toEqual({ ok: true })
    expect(runner.state).not.toMatchObject({ pid: first })
    expect(runner.restartCount).toBe(1)
    expect(statuses()).toEqual(['starting', 'running', 'backoff', 'starting', 'running'])
  })

  test('stays down when a person stops it meanwhile', async () => {
    const { runner, mark } = runnerOf('crash')
    await runner.start()
    expect(runner.state.status).toBe('backoff')
    await runner.stop()
    await sleep(1300)
    expect(runner.state.status).toBe('stopped')
    expect(processesMarked(mark)).toEqual([])
  })
})

test.runIf(process.platform === 'linux')(
  'whatever is asked in whatever order, there are never two processes and the last wish holds',
  async () => {
    const wishes = fc.array(fc.tuple(fc.constantFrom('start', 'stop', 'kill'), fc.nat(60)), {
      minLength: 3,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(wishes, fc.constantFrom('echo', 'deaf'), async (steps, kind) => {
        const { runner, mark } = runnerOf(kind, { slots: new StartSlots(1, 2000) })
        const asked: Promise<unknown>[] = []
        let most = 0
        for (const [wish, pauseMs] of [...steps, ['start', 0] as const]) {
          if (wish === 'start') asked.push(runner.start())
          else if (wish === 'stop') asked.push(runner.stop())
          else if (runner.state.status === 'running') process.kill(runner.state.pid, 'SIGKILL')
          most = Math.max(most, processesMarked(mark).length)
          await sleep(pauseMs)
        }
        await Promise.all(asked)
        // A process that was killed a moment ago is noticed a moment later, and then waits for its next try.
        for (
          let n = 0;
          n < 100 && !(runner.state.status === 'running' && processesMarked(mark).length === 1);
          n += 1
        ) {
          if (runner.state.status === 'backoff') await runner.start()
          else await sleep(30)
        }
        expect(runner.state.status).toBe('running')
        expect(processesMarked(mark).length, 'processes at the end').toBe(1)
        expect(most).toBeLessThanOrEqual(1)
        await runner.stop()
        expect(runner.state.status).toBe('stopped')
        expect(await leftAfter(mark, 500)).toBe(0)
      }),
      { numRuns: 25 },
    )
  },
)
