import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import {
  commandLine,
  isStillThere,
  listProcesses,
  processesMarked,
} from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { leftAfter, untilMarked } from '../support/marked-processes.ts'
import { stopwatch, stopwatchUntilExit } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService, reaperOf } from '../support/service-process.ts'

const KILLS = runs(1, 30, 1000)
const STOPS = runs(1, 20, 500)

const LIGHT = fileURLToPath(new URL('../fixtures/servers/light.sh', import.meta.url))

/** Identifies the children that have no mark: they are `sleep` with this argument. */
const UNMARKED_S = `300.${process.pid}1`
const UNMARKED = 3

/**
 * Well-behaved; ignoring signals and the end of its input; with children in its group; with children in other sessions;
 * with children in other sessions and without an environment.
 */
const KINDS = [
  definition('echo'),
  definition('deaf', ['--live=300']),
  definition('forker', ['--live=300', '--hold']),
  definition('setsid', ['--live=300']),
  definition('deaf', ['--live=300', '--children=3'], { name: 'shell', command: 'sh' }),
  definition('escapes', [`--live=${UNMARKED_S}`, `--children=${UNMARKED}`]),
].map((server) => ({ ...server, start_mode: 'eager' }))
const PROCESSES = 1 + 1 + 4 + 4 + 5 + 1

/** `sh -c` that stays as the parent. */
function throughShell(server: (typeof KINDS)[number]) {
  const line = [process.execPath, ...server.args].map((word) => `'${word}'`).join(' ')
  return { ...server, args: ['-c', `${line}; true`] }
}
const SERVERS = KINDS.map((server) => (server.command === 'sh' ? throughShell(server) : server))

/** All processes that cannot be found by the mark. They are ended after the test. */
const unmarked = () => listProcesses().filter(({ pid }) => commandLine(pid)[1] === UNMARKED_S)
const endUnmarked = () => {
  for (const { pid } of unmarked()) process.kill(pid, 'SIGKILL')
}

/** A new cgroup in which a service may create others; undefined where this user may not create one. */
function ownCgroup(): string | undefined {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  const mount = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
  const own = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
  if (mount === undefined || own === undefined) return undefined
  const folder = join(mount, own, `toolroom-goal-${process.pid}`)
  try {
    mkdirSync(folder)
    afterAll(() => removed(folder))
    return folder
  } catch {
    return undefined
  }
}

/** A cgroup can be removed when the last process in it has ended. */
async function removed(cgroup: string): Promise<void> {
  for (const end = performance.now() + 60_000; ; await sleep(50)) {
    try {
      for (const each of readdirSync(cgroup, { withFileTypes: true }))
        if (each.isDirectory()) rmdirSync(join(cgroup, each.name))
      return rmdirSync(cgroup)
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}

const untilUnmarked = (count: number) =>
  expect.poll(() => unmarked().length, { timeout: 30_000, interval: 50 }).toBe(count)

describe.runIf(process.platform === 'linux')('R3: no process is left behind', () => {
  afterEach(endUnmarked)
  /** For tests that do not end it. */
  const shared = sharedByTests(() => openService())

  test(`${KILLS} times kill -9 of the service leave no process after 2 s, not even one with its own session and an empty environment`, {
    timeout: 3_600_000,
  }, async () => {
    const first = await openService()
    for (const server of SERVERS) await first.add(server)
    first.child.kill('SIGTERM')
    expect(await first.ended).toMatchObject({ code: 0 })
    let slowest = 0
    for (let cycle = 0; cycle < KILLS; cycle += 1) {
      const { child, mark, until, list } = await openService({ home: first.home })
      await until((servers) => servers.every(({ status }) => status === 'running'), 60_000)
      expect(await untilMarked(mark, PROCESSES, 60_000), `cycle ${cycle}`).toBe(PROCESSES)
      await untilUnmarked(UNMARKED)
      // The processes are recorded 0.1 s after the handshake. A second request is answered after all timers that were due.
      await sleep(150)
      await list()
      await list()
      const reaper = reaperOf(mark)
      if (!reaper) return expect.unreachable('no reaper')
      const spent = stopwatchUntilExit(reaper.pid)
      child.kill('SIGKILL')
      expect(await leftAfter(mark), `cycle ${cycle}`).toBe(0)
      await untilUnmarked(0)
      slowest = Math.max(slowest, spent())
      await expect.poll(() => isStillThere(reaper), { message: 'the reaper itself' }).toBe(false)
    }
    figure('R3', 'kills of the service that left no process', KILLS, { least: KILLS })
    figure('R3', 'slowest end of all processes after a kill, ms', slowest, { most: 2000 })
  })

  test('a service whose reaper was killed with it ends the remaining processes at its next start', async () => {
    const first = await openService()
    for (const server of SERVERS) await first.add({ ...server, start_mode: 'on_demand' })
    await Promise.all(SERVERS.map(({ name }) => first.start(name)))
    const reaper = reaperOf(first.mark)
    expect(reaper).toBeDefined()
    if (reaper) process.kill(reaper.pid, 'SIGKILL')
    first.child.kill('SIGKILL')
    await first.ended
    expect(processesMarked(first.mark).length).toBeGreaterThan(0)
    const second = await openService({ home: first.home })
    expect(processesMarked(second.mark)).toEqual([])
    expect((await second.list()).map(({ status }) => status)).toEqual(Array(SERVERS.length).fill('idle'))
  })

  test('kill -9 during a start ends a process without an environment: the reaper has its group before the handshake', async () => {
    const { child, add, ask, mark } = await openService()
    const script = `env -i sleep ${UNMARKED_S} & exec env -i sleep ${UNMARKED_S}`
    await add({ name: 'mute', command: 'sh', args: ['-c', script], timeouts: { start_s: 300 } })
    const started = ask('POST', '/servers/mute/start?wait_s=0')
    await untilUnmarked(2)
    expect((await started).body.status).toBe('starting')
    expect(processesMarked(mark)).toEqual([])
    child.kill('SIGKILL')
    await untilUnmarked(0)
  })

  test('a stop ends children with their own session and an empty environment, also after their server was killed', async () => {
    const { add, start, ask, until } = await shared()
    const never = { restart: { policy: 'never' } }
    await add(definition('escapes', [`--live=${UNMARKED_S}`, `--children=${UNMARKED}`], never))
    await start('escapes')
    await untilUnmarked(UNMARKED)
    expect((await ask('POST', '/servers/escapes/stop')).status).toBe(200)
    expect(unmarked()).toEqual([])
    const { pid } = await start('escapes')
    await until(([server]) => server?.resources?.processes === 1 + UNMARKED, 60_000)
    process.kill(pid ?? 0, 'SIGKILL')
    await untilUnmarked(0)
  })

  test('a service that is started again at once keeps its servers: the old reaper ends only those of its own run', async () => {
    const first = await openService()
    const names = ['s0', 's1', 's2', 's3']
    for (const name of names) await first.add(definition('echo', [], { name, start_mode: 'eager' }))
    await Promise.all(names.map((name) => first.start(name)))
    const reaper = reaperOf(first.mark)
    if (!reaper) return expect.unreachable()
    process.kill(reaper.pid, 'SIGSTOP')
    first.child.kill('SIGKILL')
    await first.ended
    const second = await openService({ home: first.home })
    const before = await second.until((servers) => servers.every(({ pid }) => pid !== null), 60_000)
    process.kill(reaper.pid, 'SIGCONT')
    await expect.poll(() => isStillThere(reaper), { timeout: 60_000 }).toBe(false)
    await sleep(200)
    expect((await second.list()).map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid))
  })

  const cgroup = ownCgroup()
  const inside = () => readdirSync(cgroup ?? '').filter((name) => name.startsWith('toolroom-'))

  /** A service in the cgroup, with a child that has no parent, no mark and a session of its own. */
  async function openWithEscaped() {
    const service = await openService({ cgroup })
    await service.add(definition('escapes', [`--live=${UNMARKED_S}`, '--children=0']))
    const { pid } = await service.start('escapes')
    const members = () =>
      inside().map((name) => readFileSync(`${cgroup}/${name}/cgroup.procs`, 'utf8').trim())
    await expect.poll(members, { timeout: 30_000 }).toEqual([String(pid)])
    expect((await service.ask('POST', '/servers/escapes/tools/escape/call', {})).status).toBe(200)
    await untilUnmarked(1)
    return service
  }

  test.runIf(cgroup)(
    'in a cgroup of its own, kill -9 of the service ends even a process that no reading can find',
    async () => {
      const { child, ended } = await openWithEscaped()
      child.kill('SIGKILL')
      await ended
      await untilUnmarked(0)
      await expect.poll(inside).toEqual([])
    },
  )

  test.runIf(cgroup)(
    'in a cgroup of its own, the next start ends such a process when the reaper was killed, too',
    async () => {
      const { child, ended, mark, home } = await openWithEscaped()
      process.kill(reaperOf(mark)?.pid ?? 0, 'SIGKILL')
      child.kill('SIGKILL')
      await ended
      expect(unmarked()).toHaveLength(1)
      await openService({ home, cgroup })
      await untilUnmarked(0)
    },
  )

  test('a killed reaper is restarted with the list of all servers', async () => {
    const { child, mark, add, start } = await openService()
    await add(definition('setsid', ['--live=300']))
    await start('setsid')
    const reaper = reaperOf(mark)
    if (reaper) process.kill(reaper.pid, 'SIGKILL')
    await expect.poll(() => reaperOf(mark)?.pid ?? reaper?.pid).not.toBe(reaper?.pid)
    child.kill('SIGKILL')
    expect(await leftAfter(mark)).toBe(0)
  })

  test(`R4: ${STOPS} times a server that ignores signals, with children in other sessions, is stopped within 8 s without leftovers`, {
    timeout: 3_600_000,
  }, async () => {
    const { child, mark, add, start, ask } = await shared()
    const patient = { timeouts: { start_s: 60, stop_s: 7 } }
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
    const slow = { timeouts: { start_s: 60, stop_s: 60 } }
    const isFirst = (kind: string, name: string) => names.find((each) => each.kind === kind)?.name === name
    for (const { name, kind } of names) {
      const server = definition(kind, ['--live=300'], { ...slow, name })
      // The short form has one of each kind, all that ignore signals, and shell scripts, which start faster than Node.
      const isKept = FULL || kind === 'deaf' || isFirst(kind, name)
      await add(isKept ? server : { ...server, command: '/bin/sh', args: [LIGHT] })
    }
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
    // A second signal that arrives before the first one was handled is lost.
    const more = setInterval(() => child.kill('SIGTERM'), 50)
    await once(child, 'exit')
    clearInterval(more)
    figure('R21', 'exit after a second signal, ms', spent(), { most: 500 })
    expect(await leftAfter(mark)).toBe(0)
  })
})
