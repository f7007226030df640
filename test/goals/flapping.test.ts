import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import { cpuMs } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const MOST_STARTS = 6
const WATCH_MS = 60_000
const LONG_WATCH_MS = 90_000

test.runIf(process.platform === 'linux')(
  `R17: a server that always exits immediately is started ${MOST_STARTS} times in 60 s, then after five minutes, at almost no CPU cost`,
  {
    timeout: 300_000,
  },
  async () => {
    const { child, add, ask } = await openService()
    await add(definition('crash'))
    await ask('POST', '/servers/crash/start')
    const [startedAt, before] = [performance.now(), cpuMs(child.pid)]
    const elapsedMs = () => performance.now() - startedAt
    const look = async () => (await ask('GET', '/servers/crash')).body
    // The short form ends at the last of the starts: a further one before the end of the minute shows in next_retry_at.
    const isOver = async () => !FULL && (await look()).restart_count >= MOST_STARTS - 1
    while (elapsedMs() < (FULL ? LONG_WATCH_MS : WATCH_MS) && !(await isOver())) await sleep(1000)
    await expect.poll(async () => (await look()).status).toBe('backoff') // the last process has exited
    const share = (100 * (cpuMs(child.pid) - before)) / elapsedMs()
    const body = await look()
    expect(body).toMatchObject({
      status: 'backoff',
      last_exit: { code: 1, signal: null, stderr_tail: ['Error: the index is broken'] },
      last_error: { code: 'exited', message: expect.stringContaining('the index is broken') },
    })
    figure('R17', 'starts in 60 s', 1 + body.restart_count, { exactly: MOST_STARTS })
    const pauseS = (Date.parse(body.next_retry_at) - Date.now()) / 1000
    figure('R17', 'until the next start, s', pauseS, { least: FULL ? 180 : 230 })
    figure('R17', 'CPU of the service, percent', share, { most: 5 })
  },
)
