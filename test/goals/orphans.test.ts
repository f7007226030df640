import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isStillThere, processesMarked } from '../../src/supervisor/process/process-table.ts'
import { figure } from '../support/figure.ts'
import { leftAfter, untilMarked } from '../support/marked.ts'
import { stopwatch, stopwatchUntilExit } from '../support/measuring.ts'
import { definition } from '../support/running.ts'
import { openService, reaperOf } from '../support/service-process.ts'

const FULL = process.env.TOOLROOM_GOALS === 'full'
const KILLS = FULL ? 1000 : 30
const STOPS = FULL ? 500 : 3

/** Well-behaved; ignoring signals and the end of its input; with children in its group; with children in other sessions. */
const KINDS = [
  definition('echo'),
  definition('deaf', ['--live=300']),
  definition('forker', ['--live=300', '--hold']),
  definition('setsid', ['--live=300']),
  definition('deaf', ['--live=300', '--children=3'], { name: 'shell', command: 'sh' }),
].map((server) => ({ ...server, start_mode: 'eager' }))
const PROCESSES = 1 + 1 + 4 + 4 + 5

/** `sh -c` that stays as the parent. */
function throughShell(server: (typeof KINDS)[number]) {
  const line = [process.execPath, ...server.args].map((word) => `'${word}'`).join(' ')
  return { ...server, args: ['-c', `${line}; true`] }
}
const SERVERS = KINDS.map((server) => (server.command === 'sh' ? throughShell(server) : server))

describe.runIf(process.platform === 'linux')('R3: no process is left behind', () => {
  test(`${KILLS} times kill -9 of the service leave no process 2 s later`, {
    timeout: 3_600_000,
  }, async () => {
    const first = await openService()
    for (const server of SERVERS) await first.add(server)
    first.child.kill('SIGTERM')
    expect(await first.ended).toMatchObject({ code: 0 })
    let slowest = 0
    for (let cycle = 0; cycle < KILLS; cycle += 1) {
      const { child, mark } = await openService({ home: first.home })
      expect(await untilMarked(mark, PROCESSES, 10_000), `cycle ${cycle}`).toBe(PROCESSES)
      const reaper = reaperOf(mark)
      const killedAt = performance.now()
      child.kill('SIGKILL')
      expect(await leftAfter(mark, 2000), `cycle ${cycle}`).toBe(0)
      slowest = Math.max(slowest, performance.now() - killedAt)
      while (reaper && isStillThere(reaper) && performance.now() - killedAt < 3000) await sleep(50)
      expect(reaper && isStillThere(reaper), 'the reaper itself').toBe(false)
    }
    console.log(`slowest cleanup after a kill: ${Math.round(slowest)} ms`)
  })

  test('a service whose reaper was killed with it ends the remaining processes at its next start', async () => {
    const first = await openService()
    for (const server of SERVERS) await first.add({ ...server, start_mode: 'manual' })
    await Promise.all(SERVERS.map(({ name }) => first.start(name)))
    const reaper = reaperOf(first.mark)
    expect(reaper).toBeDefined()
    if (reaper) process.kill(reaper.pid, 'SIGKILL')
    first.child.kill('SIGKILL')
    await first.ended
    expect(processesMarked(first.mark).length).toBeGreaterThan(0)
    const second = await openService({ home: first.home })
    expect(processesMarked(second.mark)).toEqual([])
    expect((await second.list()).map(({ status }) => status)).toEqual(Array(5).fill('stopped'))
  })

  test('a killed reaper is restarted with the list of all servers', async () => {
    const { child, mark, add, start } = await openService()
    await add(definition('setsid', ['--live=300']))
    await start('setsid')
    const reaper = reaperOf(mark)
    if (reaper) process.kill(reaper.pid, 'SIGKILL')
    await sleep(1200)
    expect(reaperOf(mark)?.pid).not.toBe(reaper?.pid)
    child.kill('SIGKILL')
    expect(await leftAfter(mark, 2000)).toBe(0)
  })

  test(`R4: ${STOPS} times a server that ignores signals, with children in other sessions, is stopped within 8 s without leftovers`, {
    timeout: 3_600_000,
  }, async () => {
    const { child, mark, add, start, ask } = await openService()
    const patient = { timeouts: { start_s: 10, stop_s: 7 } }
    await add(definition('deaf', ['--live=300', '--children=3'], patient))
    await add(definition('setsid', ['--live=300'], patient))
    let slowest = 0
    for (let cycle = 0; cycle < STOPS; cycle += 1) {
      await Promise.all([start('deaf'), start('setsid')])
      const spent = stopwatch(child.pid)
      const [stopped] = await Promise.all(['deaf', 'setsid'].map((id) => ask('POST', `/servers/${id}/stop`)))
      slowest = Math.max(slowest, spent())
      expect(processesMarked(mark)).toEqual([])
      expect(stopped?.body).toMatchObject({ status: 'stopped', last_exit: { code: null, signal: 'SIGKILL' } })
    }
    figure('R4', 'slowest stop of servers that ignore signals, ms', slowest, { most: 8000 })
  })

  test('R21: SIGTERM with twenty servers, some of which ignore signals, ends everything within 10 s with code 0', async () => {
    const { child, ended, mark, add, start } = await openService()
    const kinds = ['echo', 'deaf', 'forker', 'setsid']
    const names = Array.from({ length: 20 }, (_, n) => ({ name: `s${n}`, kind: kinds[n % 4] ?? 'echo' }))
    const slow = { timeouts: { start_s: 10, stop_s: 60 } }
    for (const { name, kind } of names) await add(definition(kind, ['--live=300'], { ...slow, name }))
    await Promise.all(names.map(({ name }) => start(name)))
    const spent = stopwatchUntilExit(child.pid)
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
    figure('R21', 'exit after SIGTERM with twenty servers, ms', spent(), { most: 10_000 })
    expect(processesMarked(mark)).toEqual([])
    expect(reaperOf(mark)).toBeUndefined()
  })

  test('R21: a second signal ends the service immediately, and the reaper ends the servers', async () => {
    const { child, mark, add, start } = await openService()
    await add(definition('deaf', ['--live=300', '--children=3']))
    await start('deaf')
    child.kill('SIGTERM')
    await sleep(300)
    const spent = stopwatchUntilExit(child.pid)
    child.kill('SIGTERM')
    await once(child, 'exit')
    figure('R21', 'exit after a second signal, ms', spent(), { most: 500 })
    expect(await leftAfter(mark, 2000)).toBe(0)
  })
})
