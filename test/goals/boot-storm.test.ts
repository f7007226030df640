import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

const FULL = process.env.TOOLROOM_GOALS === 'full'
const SERVERS = FULL ? 100 : 30
const STUCK = 3

const percentile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)] ?? 0

describe.runIf(process.platform === 'linux')('many servers at once', () => {
  test(`${SERVERS} servers start with Toolroom without a failure, stuck ones do not delay others, and the API responds`, {
    timeout: 300_000,
  }, async () => {
    const first = await openService()
    const eager = { start_mode: 'eager' }
    for (let n = 0; n < STUCK; n += 1)
      await first.add(definition('slow-handshake', ['--ms=600000'], { ...eager, name: `stuck${n}` }))
    for (let n = 0; n < SERVERS; n += 1) await first.add(definition('echo', [], { ...eager, name: `s${n}` }))
    first.child.kill('SIGTERM')
    await first.ended

    const startedAt = performance.now()
    const { list, address } = await openService({ home: first.home })
    const times: number[] = []
    let ready = 0
    const askOften = async () => {
      while (ready < SERVERS) {
        const askedAt = performance.now()
        await (await fetch(`${address}/api/health`)).text()
        times.push(performance.now() - askedAt)
        await sleep(5)
      }
    }
    const asking = askOften()
    while (ready < SERVERS && performance.now() - startedAt < 120_000) {
      const servers = (await list()).filter(({ id }) => id.startsWith('s') && !id.startsWith('stuck'))
      expect(servers.filter(({ status }) => ['backoff', 'failed'].includes(status))).toEqual([])
      ready = servers.filter(({ status }) => status === 'running').length
      await sleep(100)
    }
    await asking
    expect(ready).toBe(SERVERS)
    expect(percentile(times, 0.99)).toBeLessThan(250)
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    console.log(`${SERVERS} servers after ${seconds} s, health p99 ${Math.round(percentile(times, 0.99))} ms`)
  })
})
