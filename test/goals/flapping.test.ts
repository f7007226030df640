import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

const WATCH_S = process.env.TOOLROOM_GOALS === 'full' ? 90 : 61

test.runIf(process.platform === 'linux')(
  `a server that always exits immediately is started six times within ${WATCH_S} s, at almost no CPU cost`,
  {
    timeout: 200_000,
  },
  async () => {
    const { child, add, ask } = await openService()
    await add(definition('crash'))
    await ask('POST', '/servers/crash/start')
    const [startedAt, before] = [performance.now(), cpuS(child.pid)]
    await sleep(WATCH_S * 1000)
    const share = (cpuS(child.pid) - before) / ((performance.now() - startedAt) / 1000)
    const { body } = await ask('GET', '/servers/crash')
    expect(body).toMatchObject({
      status: 'backoff',
      restart_count: 5,
      last_exit: { code: 1, signal: null, stderr_tail: ["Error: Cannot find module 'left-pad'"] },
      last_error: { code: 'module_not_found', message: expect.stringContaining("'left-pad'") },
    })
    expect(Date.parse(body.next_retry_at) - Date.now()).toBeGreaterThan(60_000)
    expect(share).toBeLessThan(0.05)
  },
)

/** CPU time of a process so far, in seconds. */
function cpuS(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
