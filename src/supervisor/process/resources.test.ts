import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { ownMark, untilMarked } from '../../../test/support/marked.ts'
import { Child } from './child.ts'
import { processesMarked } from './process-table.ts'
import { ResourceSampler } from './resources.ts'

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
    await sleep(500) // until the start itself no longer uses CPU time
    const leaders = new Map([
      ['worker', worker.pid],
      ['idle', idle.pid],
      ['gone', 2 ** 22 + 1],
    ])
    const sampler = new ResourceSampler(() => performance.now())
    expect(sampler.sample(leaders).get('worker')).toMatchObject({ cpu_pct: 0, processes: 2 })
    await sleep(1000)
    const sampled = sampler.sample(leaders)
    expect(sampled.get('worker')?.cpu_pct).toBeGreaterThan(15)
    expect(sampled.get('worker')?.rss_bytes).toBeGreaterThan(50 * 1024 * 1024)
    expect(sampled.get('idle')).toMatchObject({ processes: 1 })
    expect(sampled.get('idle')?.cpu_pct).toBeLessThan(sampled.get('worker')?.cpu_pct ?? 0)
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
    const sampler = new ResourceSampler(() => performance.now())
    const processes = () => sampler.sample(new Map([['forker', server.pid]])).get('forker')?.processes
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
