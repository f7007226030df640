import { expect, test, vi } from 'vitest'
import { groupsOf, ownMark } from '../../../test/support/marked-processes.ts'
import { processesMarked } from '../platform/linux/proc.ts'
import type { ProcessGroup } from '../platform/platform.ts'
import { ResourceSampler, SAMPLE_EVERY_MS } from './resource-sampler.ts'

const starter = (mark: string) => {
  const groups = groupsOf(mark)
  return (path: string, args: string[]) => groups.start({ path, args, cwd: undefined, env: {}, mark })
}

function sampling() {
  const read: number[] = []
  const clock = { now: 0 }
  const sampler = new ResourceSampler(() => clock.now || performance.now())
  const of = (id: string, server: Pick<ProcessGroup, 'pid' | 'usage'>, calls = 0) => ({
    id,
    leader: server.pid,
    calls,
    usage: () => {
      read.push(server.pid)
      return server.usage()
    },
  })
  return { sampler, of, read, clock }
}

test.runIf(process.platform === 'linux')(
  'the resources of a server include all its children and no other process',
  async () => {
    const mark = ownMark()
    const busy = 'setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 100)'
    const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(busy)}], { detached: true }); setInterval(() => {}, 1000)`
    const start = starter(mark)
    const worker = await start(process.execPath, ['-e', script])
    const idle = await start(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    await vi.waitFor(async () => expect(await worker.usage()).toHaveLength(2), 60_000)
    const { sampler, of, clock } = sampling()
    const untold = { pid: 1, usage: async () => undefined }
    const servers = [of('worker', worker), of('idle', idle), of('untold', untold)]
    const ticks = () => {
      const own = processesMarked(mark).filter(({ pid }) => pid !== idle.pid)
      return own.reduce((sum, each) => sum + each.cpuMs / 10, 0)
    }
    clock.now = 1000
    const atMost = ticks()
    expect((await sampler.sample(servers)).get('worker')).toMatchObject({ cpu_pct: 0, processes: 2 })
    const atLeast = ticks()
    await vi.waitFor(() => expect(ticks() - atLeast).toBeGreaterThan(20), 60_000)
    clock.now += 1000 // so that a tick is a percent
    const usedBefore = ticks()
    const sampled = await sampler.sample(servers)
    const usedAfter = ticks()
    expect(sampled.get('worker')?.cpu_pct).toBeGreaterThanOrEqual(usedBefore - atLeast - 0.1)
    expect(sampled.get('worker')?.cpu_pct).toBeLessThanOrEqual(usedAfter - atMost + 0.1)
    expect(sampled.get('worker')?.rss_bytes).toBeGreaterThan(50 * 1024 * 1024)
    expect(sampled.get('idle')).toMatchObject({ processes: 1 })
    expect(sampled.get('untold')).toBeNull()
  },
)

test.runIf(process.platform === 'linux')(
  'the resources of a server include later children, even outside its group and without their parent',
  async () => {
    const mark = ownMark()
    const server = await starter(mark)('/bin/sh', ['-c', 'read go; (setsid sleep 60 & read go); read end'])
    const { sampler, of } = sampling()
    const counted = async (count: number) => {
      server.settled()
      await vi.waitFor(async () => {
        const sampled = await sampler.sample([of('forker', server)])
        expect(sampled.get('forker')?.processes).toBe(count)
      }, 60_000)
    }
    await counted(1)
    server.input.write('go\n')
    await counted(3)
    server.input.write('go\n')
    await vi.waitFor(() => expect(processesMarked(mark)).toHaveLength(2))
    await counted(2)
    expect(processesMarked(mark).map(({ parent }) => parent)).not.toContain(server.pid)
  },
)

test.runIf(process.platform === 'linux')(
  'a server that does nothing is read at most 8 times in 64 s instead of 33 times, and again after a call or while a client watches',
  async () => {
    const server = await starter(ownMark())('/bin/sleep', ['60'])
    const { sampler, of, read, clock } = sampling()
    const sample = (calls: number, isWatched: boolean) =>
      sampler.sample([of('quiet', server, calls)], isWatched)
    await vi.waitFor(async () => expect((await sample(0, true)).get('quiet')?.processes).toBe(1)) // until it has loaded its program
    read.length = 0
    clock.now = performance.now() + 60_000
    const end = clock.now + 64_000
    for (; clock.now <= end; clock.now += SAMPLE_EVERY_MS) await sample(0, false)
    expect(read.length).toBeLessThanOrEqual(8)
    await sample(0, true)
    expect((await sample(0, false)).size).toBe(0)
    expect((await sample(1, false)).size).toBe(1)
    expect((await sample(1, false)).size).toBe(0)
    expect((await sample(1, true)).size).toBe(1)
  },
)
