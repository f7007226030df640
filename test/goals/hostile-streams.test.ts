import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

const ROUNDS = 3
type Svc = Awaited<ReturnType<typeof openService>>

const KINDS = [
  ['a line of 100 MB on stdout', 'bigline', ['--mb=100']],
  ['a line of 100 MB on stderr', 'bigline', ['--mb=100', '--stream=stderr']],
  ['50 MB of random bytes on stdout', 'garbage', ['--kb=50000']],
  ['50 MB of random bytes on stderr', 'garbage', ['--kb=50000', '--stream=stderr']],
  ['20 MB that know returns only', 'garbage', ['--kb=20000', '--cr']],
] as const

const mem = (pid: number | undefined) => {
  const s = readFileSync(`/proc/${pid}/status`, 'utf8')
  const g = (k: string) => Math.round(Number(new RegExp(`${k}:\\s+(\\d+)`).exec(s)?.[1]) / 1024)
  return { rss: g('VmRSS'), peak: g('VmHWM') }
}

describe('R9', () => {
  test.each(KINDS)(
    '%s',
    async (_says, kind, args) => {
      const s = await openService()
      await s.add(definition('echo'))
      await s.start('echo')
      await s.add(definition(kind, [...args], { name: 'hostile', timeouts: { start_s: 30, stop_s: 1 } }))
      await observe(s, sleep(1500))
      for (let r = 0; r < ROUNDS; r += 1) {
        const before = await observe(s, sleep(700))
        const m0 = mem(s.child.pid)
        writeFileSync(`/proc/${s.child.pid}/clear_refs`, '5')
        const t = performance.now()
        const during = await observe(
          s,
          s.start('hostile').then(() => sleep(300)),
        )
        const took = performance.now() - t
        const m1 = mem(s.child.pid)
        const view = (await s.ask('GET', '/servers/hostile')).body
        console.log(
          kind,
          args.join(' '),
          `took ${Math.round(took)}`,
          `rss ${m0.rss} -> ${m1.rss} peak ${m1.peak}`,
          'before',
          fmt(before),
          'during',
          fmt(during),
          view.status,
          view.health.level,
          view.log_lines_dropped,
        )
        await s.ask('POST', '/servers/hostile/stop')
      }
      expect(1).toBe(1)
    },
    120_000,
  )
})

const fmt = ({ calls, health }: { calls: number[]; health: number[] }) =>
  `calls n=${calls.length} p50=${pc(calls, 50).toFixed(1)} p99=${pc(calls, 99).toFixed(1)} max=${Math.max(...calls).toFixed(1)} health p50=${pc(health, 50).toFixed(1)} max=${Math.max(...health).toFixed(1)}`
const pc = (v: number[], p: number) =>
  v.toSorted((a, b) => a - b)[Math.ceil((v.length * p) / 100) - 1] ?? Infinity

async function observe(s: Svc, until: Promise<unknown>) {
  let open = true
  void until.finally(() => {
    open = false
  })
  const loop = async (ask: () => Promise<{ status: number }>, pause: number) => {
    const out: number[] = []
    while (open) {
      const t = performance.now()
      const { status } = await ask()
      expect(status).toBe(200)
      out.push(performance.now() - t)
      await sleep(pause)
    }
    return out
  }
  const [calls, health] = await Promise.all([
    loop(() => s.ask('POST', '/servers/echo/tools/echo/call', { arguments: { text: 'hi' } }), 1),
    loop(() => s.ask('GET', '/health'), 10),
  ])
  return { calls, health }
}
