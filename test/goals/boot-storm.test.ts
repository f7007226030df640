import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import { percentile, stopwatch } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const SERVERS = FULL ? 100 : 30
const STUCK = 3
/** With fewer, the 99th percentile is the slowest request: the first one, which waits until the API is built. */
const LEAST_REQUESTS = 300

describe.runIf(process.platform === 'linux')('many servers at once', () => {
  test(`R18: ${SERVERS} servers start with Toolroom without a failure, stuck ones do not delay others, and the API responds`, {
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
    const { list, address, child } = await openService({ home: first.home })
    const times: number[] = []
    let ready = 0
    const askOften = async () => {
      while (ready < SERVERS || times.length < LEAST_REQUESTS) {
        const spent = stopwatch(child.pid)
        await (await fetch(`${address}/api/health`)).text()
        times.push(spent())
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
    const seconds = (performance.now() - startedAt) / 1000
    figure('R18', 'servers that are running', ready, { exactly: SERVERS })
    figure('R18', 'all servers running, s', seconds, { most: 120 })
    figure('R18', 'p99 of /api/health, ms', percentile(times, 99), { most: 250 })
  })
})
