import { expect, test, vi } from 'vitest'
import { NO_REAPER, ownMark, untilMarked } from '../../../test/support/marked.ts'
import { Child } from './child.ts'
import { OwnProcesses } from './own-processes.ts'
import { processesMarked } from './process-table.ts'
import { ResourceSampler, SAMPLE_EVERY_MS, type Sampled } from './resources.ts'

/** Reads the process table before each sample. */
function sampling(...children: Child[]) {
  const processes = new OwnProcesses(NO_REAPER)
  const read: number[] = []
  const clock = { now: 0 }
  for (const { group } of children) processes.watch(group)
  const sampler = new ResourceSampler(
    (leader) => {
      read.push(leader)
      return processes.of(leader)
    },
    () => clock.now || performance.now(),
  )
  const sample = (servers: Sampled[], isWatched?: boolean) => {
    processes.find()
    return sampler.sample(servers, isWatched)
  }
  return { sample, read, clock }
}

test.runIf(process.platform === 'linux')(
  'the resources of a server include all its children and no other process',
  async () => {
    const mark = ownMark()
    const busy = 'setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 100)'
    const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(busy)}], { detached: true }); setInterval(() => {}, 1000)`
    const start = (args: string[]) =>
      Child.start({ path: process.execPath, args: ['-e', ...args], cwd: undefined, env: {}, mark })
    const [worker, idle] = [await start([script]), await start(['setInterval(() => {}, 1000)'])]
    await untilMarked(mark, 3)
    const servers = [
      { id: 'worker', leader: worker.pid, calls: 0 },
      { id: 'idle', leader: idle.pid, calls: 0 },
      { id: 'gone', leader: 2 ** 22 + 1, calls: 0 },
    ]
    const { sample, clock } = sampling(worker, idle)
    const ticks = () => {
      const own = processesMarked(mark).filter(({ pid }) => pid !== idle.pid)
      return own.reduce((sum, each) => sum + each.ticks, 0)
    }
    clock.now = 1000
    const atMost = ticks()
    expect(sample(servers).get('worker')).toMatchObject({ cpu_pct: 0, processes: 2 })
    const atLeast = ticks()
    await vi.waitFor(() => expect(ticks() - atLeast).toBeGreaterThan(20), 60_000)
    clock.now += 1000 // so that a tick is a percent
    const usedBefore = ticks()
    const sampled = sample(servers)
    const usedAfter = ticks()
    expect(sampled.get('worker')?.cpu_pct).toBeGreaterThanOrEqual(usedBefore - atLeast - 0.1)
    expect(sampled.get('worker')?.cpu_pct).toBeLessThanOrEqual(usedAfter - atMost + 0.1)
    expect(sampled.get('worker')?.rss_bytes).toBeGreaterThan(50 * 1024 * 1024)
    expect(sampled.get('idle')).toMatchObject({ processes: 1 })
    expect(sampled.get('gone')).toEqual({ cpu_pct: 0, rss_bytes: 0, processes: 0 })
  },
)

test.runIf(process.platform === 'linux')(
  'the resources of a server include later children, even outside its group and without their parent',
  async () => {
    const mark = ownMark()
    const script = 'read go; (setsid sleep 60 & read go); read end'
    const server = await Child.start({
      path: '/bin/sh',
      args: ['-c', script],
      cwd: undefined,
      env: {},
      mark,
    })
    const { sample } = sampling(server)
    const processes = () => sample([{ id: 'forker', leader: server.pid, calls: 0 }]).get('forker')?.processes
    expect(processes()).toBe(1)
    server.input.write('go\n')
    await untilMarked(mark, 3)
    expect(processes()).toBe(3)
    server.input.write('go\n')
    await vi.waitFor(() => expect(processesMarked(mark)).toHaveLength(2))
    expect(processes()).toBe(2)
    expect(processesMarked(mark).map(({ parent }) => parent)).not.toContain(server.pid)
  },
)

test.runIf(process.platform === 'linux')(
  'a server that does nothing is read at most 8 times in 64 s instead of 33 times, and again after a call or while a client watches',
  async () => {
    const path = '/bin/sleep'
    const server = await Child.start({ path, args: ['60'], cwd: undefined, env: {}, mark: ownMark() })
    const { sample, read, clock } = sampling(server)
    const at = (calls: number) => [{ id: 'quiet', leader: server.pid, calls }]
    await vi.waitFor(() => expect(sample(at(0)).get('quiet')?.processes).toBe(1)) // until it has loaded its program
    read.length = 0
    clock.now = performance.now() + 60_000
    const end = clock.now + 64_000
    for (; clock.now <= end; clock.now += SAMPLE_EVERY_MS) sample(at(0), false)
    expect(read.length).toBeLessThanOrEqual(8)
    expect(sample(at(0), false).size).toBe(0)
    expect(sample(at(1), false).size).toBe(1)
    expect(sample(at(1), false).size).toBe(0)
    expect(sample(at(1), true).size).toBe(1)
  },
)
