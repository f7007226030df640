import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { pidOf, runnerOf } from '../../test/support/test-runner.ts'

/** It is running again. */
async function startAndKillOnce(runner: Runner): Promise<void> {
  await runner.start()
  const first = pidOf(runner)
  process.kill(first, 'SIGKILL')
  await expect.poll(() => runner.isConnected && pidOf(runner) !== first).toBe(true)
}

type Runner = ReturnType<typeof runnerOf>['runner']

/** Twice, because the first crash is retried at once. */
async function startAndKill(runner: Runner): Promise<void> {
  await startAndKillOnce(runner)
  process.kill(pidOf(runner), 'SIGKILL')
  await expect.poll(() => runner.state.status).toBe('backoff')
}

describe('join', () => {
  test('joining a running server resolves at once, and joining a stopped one fails', async () => {
    const { runner } = runnerOf('echo')
    expect(await runner.join()).toMatchObject({ ok: false, error: { code: 'stopped' } })
    await runner.start()
    expect(await runner.join()).toEqual({ ok: true })
    await runner.stop()
    expect(await runner.join()).toMatchObject({ ok: false })
  })

  test('joining a server in backoff waits for the scheduled restart', async () => {
    const { runner, statuses } = runnerOf('echo')
    await startAndKill(runner)
    const due = runner.state.status === 'backoff' ? runner.state.next_retry_at : Number.NaN
    expect(await runner.join()).toEqual({ ok: true })
    expect(Date.now()).toBeGreaterThanOrEqual(due)
    const once = ['backoff', 'starting', 'running']
    expect(statuses()).toEqual(['starting', 'running', ...once, ...once])
    expect(runner.restartCount).toBe(2)
  })

  test('joining a server between its end and the backoff status waits for the restart too', async () => {
    const { runner, peer, statuses } = runnerOf('echo')
    await runner.start()
    const lost = peer()?.request(
      'tools/call',
      { name: 'slow', arguments: { ms: 30_000 } },
      { timeoutMs: 30_000 },
    )
    process.kill(pidOf(runner), 'SIGKILL')
    await lost?.catch(() => {})
    await expect.poll(() => runner.isConnected, { interval: 1 }).toBe(false)
    expect(await runner.join()).toEqual({ ok: true })
    expect(statuses()).toEqual(['starting', 'running', 'backoff', 'starting', 'running'])
  })

  test('joining a server in backoff fails at once if the next start is after the deadline, and says when it is', async () => {
    const { runner, statuses } = runnerOf('echo')
    await startAndKill(runner)
    const error = {
      code: 'retry_later',
      message: expect.stringMatching(/^The next start is in [1-3] s, after .*(?:SIGKILL|code 1)/),
    }
    expect(await Promise.race([runner.join(1), setImmediate('pending')])).toMatchObject({ ok: false, error })
    expect(statuses().at(-1)).toBe('backoff')
    expect(await runner.join(60_000)).toEqual({ ok: true })
  })

  test('a request that joined before the backoff fails when the backoff begins if the next start is after the deadline', async () => {
    const { runner, peer, statuses } = runnerOf('echo')
    await startAndKillOnce(runner)
    const lost = peer()?.request(
      'tools/call',
      { name: 'slow', arguments: { ms: 60_000 } },
      { timeoutMs: 60_000 },
    )
    process.kill(pidOf(runner), 'SIGKILL')
    await lost?.catch(() => {})
    await expect.poll(() => runner.isConnected, { interval: 1 }).toBe(false)
    const [early, patient] = [runner.join(700), runner.join(60_000)]
    expect(await early).toMatchObject({ ok: false, error: { code: 'retry_later' } })
    expect(statuses().slice(-2)).toEqual(['running', 'backoff'])
    expect(await patient).toEqual({ ok: true })
  })

  test('the time of the next start follows a change of the system time', async () => {
    let changedMs = 0
    const { runner } = runnerOf('echo', { now: () => Date.now() + changedMs })
    await startAndKill(runner)
    const due = () => (runner.state.status === 'backoff' ? runner.state.next_retry_at : Number.NaN)
    const before = due()
    expect(due()).toBe(before)
    for (const jumpMs of [-2 * 3_600_000, 365 * 86_400_000]) {
      changedMs = jumpMs
      expect(Math.abs(due() - jumpMs - before)).toBeLessThan(1000)
    }
  })

  test('joining a restart that fails returns its error', async () => {
    const { runner } = runnerOf('crash')
    await runner.start()
    expect(runner.state.status).toBe('backoff')
    expect(await runner.join()).toMatchObject({ ok: false, error: { code: 'exited' } })
    expect(runner.state).toMatchObject({ status: 'backoff', attempt: 2 })
  })

  test('a stop rejects pending joins and starts at once', async () => {
    const { runner } = runnerOf('echo')
    await startAndKill(runner)
    const joined = runner.join()
    const started = runner.start()
    await runner.stop()
    expect(await joined).toMatchObject({ ok: false, error: { code: 'stopped' } })
    expect(await started).toMatchObject({ ok: false, error: { code: 'stopped' } })
  })

  test('joining a killed server with the policy never fails', async () => {
    const { runner } = runnerOf('echo', { rules: { policy: 'never', max_delay_s: 300 } })
    await runner.start()
    process.kill(pidOf(runner), 'SIGKILL')
    await expect.poll(() => runner.isConnected, { interval: 1 }).toBe(false)
    expect(await runner.join()).toMatchObject({ ok: false })
    await expect.poll(() => runner.state.status).toBe('stopped')
  })
})
