import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readProcess, TICKS_PER_S } from '../../src/supervisor/process/process-table.ts'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

const FULL = process.env.TOOLROOM_GOALS === 'full'
const SERVERS = FULL ? 100 : 20
/** V8 collects the garbage of the start some seconds later. */
const SETTLE_S = FULL ? 25 : 10
const IDLE_S = FULL ? 20 : 10
const MUST_MS_PER_S = 5

describe.runIf(process.platform === 'linux')('an idle service', () => {
  test(`with ${SERVERS} running servers that do nothing, Toolroom uses at most ${MUST_MS_PER_S} ms of CPU time per second`, {
    timeout: 300_000,
  }, async () => {
    const { child, add, start } = await openService()
    const names = Array.from({ length: SERVERS }, (_, n) => `s${n}`)
    for (const name of names) await add(definition('echo', [], { name }))
    await Promise.all(names.map((name) => start(name)))
    await sleep(SETTLE_S * 1000)
    const cpuMs = () => ((readProcess(child.pid ?? 0)?.ticks ?? Number.NaN) / TICKS_PER_S) * 1000
    const before = cpuMs()
    await sleep(IDLE_S * 1000)
    const msPerS = (cpuMs() - before) / IDLE_S
    console.log(`idle with ${SERVERS} servers: ${msPerS.toFixed(1)} ms of CPU time per second`)
    expect(msPerS).toBeLessThanOrEqual(MUST_MS_PER_S)
  })
})
