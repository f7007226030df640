import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FULL } from '../support/full-or-short.ts'
import { exactCpuMs, percentile } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const SERVERS = FULL ? 100 : 20
/** V8 compiles and collects the garbage of the start in the first seconds. */
const SETTLE_S = FULL ? 15 : 10
const WINDOWS = FULL ? 15 : 5
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
    // The median does not count what V8 compiles once.
    const msPerS: number[] = []
    for (let n = 0; n < WINDOWS; n += 1) {
      const [before, startedAt] = [exactCpuMs(child.pid), performance.now()]
      await sleep(2000)
      msPerS.push(((exactCpuMs(child.pid) - before) * 1000) / (performance.now() - startedAt))
    }
    const median = percentile(msPerS, 50)
    console.log(`idle with ${SERVERS} servers: ${median.toFixed(1)} ms of CPU time per second`)
    expect(median).toBeLessThanOrEqual(MUST_MS_PER_S)
  })
})
