import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { heldMemory, MEASURED } from '../support/held-memory.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const SERVERS = runs(4, 20)
/** The history of calls keeps the last 200 with their arguments, so that many fill it. */
const WARM_UP = 250
const CALLS = runs(360, 1500, 6000)
const CALLS_PER_S = 5
/** A leak of a kilobyte for each call shows. What metrics and the log learn of new minutes and restarts does not. */
const MAX_BYTES_PER_CALL = 4000

const openFiles = (pid: number | undefined) => readdirSync(`/proc/${pid}/fd`).length

describe.runIf(process.platform === 'linux')('soak', () => {
  test(`R20: ${CALLS} calls${FULL ? `, ${CALLS_PER_S} a second,` : ''} of ${SERVERS} servers, of which every fiftieth restarts one, leak no file handle, no process and less than ${MAX_BYTES_PER_CALL} bytes each`, {
    timeout: 3_600_000,
  }, async () => {
    const service = await openService({ env: MEASURED })
    const { child, add, start, ask } = service
    const names = Array.from({ length: SERVERS }, (_, n) => `s${n}`)
    for (const name of names) await add(definition('echo', [], { name }))
    await Promise.all(names.map(start))
    const talk = async (calls: number) => {
      for (let n = 0; n < calls; n += 1) {
        const body = { arguments: { text: 'x'.repeat(n % 2000) } }
        const reply = await ask('POST', `/servers/s${n % SERVERS}/tools/echo/call`, body)
        expect(reply.status).toBe(200)
        if (n % 50 === 49) await ask('POST', `/servers/s${n % SERVERS}/restart`)
        if (FULL) await sleep(1000 / CALLS_PER_S)
      }
    }
    await talk(WARM_UP) // compiled code and full caches
    await sleep(500)
    const before = { files: openFiles(child.pid), ...(await heldMemory(service)) }
    await talk(CALLS)
    await sleep(500)
    // Fewer if connections of the test were closed.
    figure('R20', 'more open files', openFiles(child.pid) - before.files, { most: 2 })
    const zombies = listProcesses().filter(({ parent, zombie }) => parent === child.pid && zombie)
    figure('R20', 'zombies', zombies.length, { exactly: 0 })
    const { heldMb } = await heldMemory(service)
    const perCall = ((heldMb - before.heldMb) * 1_048_576) / CALLS
    figure('R20', 'more bytes in use for each call', perCall, { most: MAX_BYTES_PER_CALL })
  })
})
