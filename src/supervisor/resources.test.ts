import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ownMark, untilMarked } from '../../test/support/marked.ts'
import { Child } from './child.ts'
import { ResourceSampler } from './resources.ts'

test.runIf(process.platform === 'linux')(
  'a server is charged for everything that it started, and for nothing else',
  async () => {
    const mark = ownMark()
    const busy = 'setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 100)'
    const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(busy)}], { detached: true }); setInterval(() => {}, 1000)`
    const start = (args: string[]) =>
      Child.start({ path: process.execPath, args: ['-e', ...args], cwd: undefined, env: {}, mark })
    const [worker, idle] = [await start([script]), await start(['setInterval(() => {}, 1000)'])]
    await untilMarked(mark, 3)
    await sleep(500) // starting takes time, too
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
