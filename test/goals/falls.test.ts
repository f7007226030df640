import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { longLife } from '../support/long-life.ts'
import { moment, ownMs, stopwatch } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const LINES = runs(20_000, 1_000_000)

describe.runIf(process.platform === 'linux')('recovery', () => {
  test('a server that exits after 10 s of running has a new process within 100 ms and serves its tools again', {
    timeout: 300_000,
  }, async () => {
    const { child, mark, add, start, ask, until } = await openService()
    await add(definition('echo'))
    const { pid } = await start('echo')
    await sleep(10_200)
    const spent = stopwatch(child.pid)
    const killedAt = performance.now()
    if (pid !== null) process.kill(pid, 'SIGKILL')
    let next: number | undefined
    while (next === undefined && performance.now() - killedAt < 60_000) {
      next = processesMarked(mark).find((each) => each.pid !== pid)?.pid
      if (next === undefined) await sleep(2)
    }
    expect(spent()).toBeLessThan(100)
    await until(([server]) => server?.status === 'running')
    const call = await ask('POST', '/servers/echo/tools/pid/call', {})
    expect(call.body).toMatchObject({ content: [{ text: String(next) }] })
    expect((await ask('GET', '/servers/echo')).body).toMatchObject({
      pid: next,
      restart_count: 1,
      last_exit: { code: null, signal: 'SIGKILL' },
      last_error: null,
      health: { level: 'degraded', summary: 'Running again after an unexpected exit; restarted once' },
    })
  })

  test(`R22: after a crash Toolroom is ready within 3 s, with 200 servers and ${LINES} log lines`, {
    timeout: 600_000,
  }, async () => {
    const home = ownFolder()
    longLife(home, LINES)
    const env = { LOG_MAX_MB: '1024' }
    const first = await openService({ home, env })
    for (let n = 0; n < 200; n += 1) await first.add(definition('echo', [], { name: `s${n}` }))
    await Promise.all(Array.from({ length: 8 }, (_, n) => first.start(`s${n}`)))
    await sleep(600) // the catalogue is stored a moment after the start
    first.child.kill('SIGKILL')
    await first.ended
    const from = moment()
    const second = await openService({ home, env })
    figure('R22', `ready after a crash with ${LINES} log lines, ms`, ownMs(from, moment(second.child.pid)), {
      most: 3000,
    })
    const servers = await second.list()
    expect(servers.length).toBe(200)
    expect(servers.filter(({ tool_count }) => tool_count === 4).length).toBe(8)
  })
})
