import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { runnerOf } from '../../test/support/runner.ts'

type Runner = ReturnType<typeof runnerOf>['runner']

async function fallen(runner: Runner): Promise<void> {
  await runner.start()
  process.kill(runner.state.status === 'running' ? runner.state.pid : 0, 'SIGKILL')
  await expect.poll(() => runner.state.status).toBe('backoff')
}

describe.runIf(process.platform === 'linux')('who joins a server', () => {
  test('that runs need not wait, and one that was stopped does not come', async () => {
    const { runner } = runnerOf('echo')
    expect(await runner.joined()).toMatchObject({ ok: false, error: { code: 'stopped' } })
    await runner.start()
    expect(await runner.joined()).toEqual({ ok: true })
    await runner.stop()
    expect(await runner.joined()).toMatchObject({ ok: false })
  })

  test('that has fallen waits for the next try, which comes at its own time', async () => {
    const { runner, statuses } = runnerOf('echo')
    await fallen(runner)
    const due = runner.state.status === 'backoff' ? runner.state.next_retry_at : Number.NaN
    expect(await runner.joined()).toEqual({ ok: true })
    expect(Date.now()).toBeGreaterThanOrEqual(due)
    expect(statuses()).toEqual(['starting', 'running', 'backoff', 'starting', 'running'])
    expect(runner.restartCount).toBe(1)
  })

  test('in the moment between its fall and the next state waits for the next try, too', async () => {
    const { runner, peer, statuses } = runnerOf('echo')
    await runner.start()
    const lost = peer()?.request(
      'tools/call',
      { name: 'slow', arguments: { ms: 30_000 } },
      { timeoutMs: 30_000 },
    )
    process.kill(runner.state.status === 'running' ? runner.state.pid : 0, 'SIGKILL')
    await lost?.catch(() => {})
    await expect.poll(() => runner.stays, { interval: 1 }).toBe(false)
    expect(await runner.joined()).toEqual({ ok: true })
    expect(statuses()).toEqual(['starting', 'running', 'backoff', 'starting', 'running'])
  })

  test('hears how the try went, also when it failed', async () => {
    const { runner } = runnerOf('crash')
    await runner.start()
    expect(runner.state.status).toBe('backoff')
    expect(await runner.joined()).toMatchObject({ ok: false, error: { code: 'module_not_found' } })
    expect(runner.state).toMatchObject({ status: 'backoff', attempt: 2 })
  })

  test('that is stopped meanwhile is told at once, and so is who wished for a start before', async () => {
    const { runner } = runnerOf('echo')
    await fallen(runner)
    const joined = runner.joined()
    const started = runner.start()
    await runner.stop()
    const late = sleep(500, 'nobody told it')
    expect(await Promise.race([joined, late])).toMatchObject({ ok: false, error: { code: 'stopped' } })
    expect(await Promise.race([started, late])).toMatchObject({ ok: false, error: { code: 'stopped' } })
  })

  test('under the policy never hears that it will not come back', async () => {
    const { runner } = runnerOf('echo', { rules: { policy: 'never', max_delay_s: 300 } })
    await runner.start()
    process.kill(runner.state.status === 'running' ? runner.state.pid : 0, 'SIGKILL')
    await expect.poll(() => runner.stays, { interval: 1 }).toBe(false)
    expect(await runner.joined()).toMatchObject({ ok: false })
    await expect.poll(() => runner.state.status).toBe('stopped')
  })
})
