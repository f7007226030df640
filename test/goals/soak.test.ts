import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const SERVERS = runs(4, 20)
const MINUTES = runs(0.15, 5, 20)
const CALLS_PER_S = runs(40, 5)

const residentMb = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
const openFiles = (pid: number | undefined) => readdirSync(`/proc/${pid}/fd`).length

describe.runIf(process.platform === 'linux')('soak', () => {
  test(`R20: ${MINUTES} minutes with ${SERVERS} servers and ${CALLS_PER_S} calls a second leak no file handle, no process and no memory`, {
    timeout: 3_600_000,
  }, async () => {
    const { child, add, start, ask } = await openService()
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
    await talk(runs(150, 200)) // warm-up: compiled code and full caches
    await sleep(500)
    const before = { files: openFiles(child.pid), mb: residentMb(child.pid) }
    await talk(MINUTES * 60 * CALLS_PER_S)
    await sleep(500)
    // Fewer if connections of the test were closed.
    figure('R20', 'more open files', openFiles(child.pid) - before.files, { most: 2 })
    const zombies = listProcesses().filter(({ parent, zombie }) => parent === child.pid && zombie)
    figure('R20', 'zombies', zombies.length, { exactly: 0 })
    // An idle process collects its garbage. What is leaked stays.
    let growth = residentMb(child.pid) - before.mb
    for (let second = 0; second < 30 && growth > 20; second += 1) {
      await sleep(1000)
      growth = Math.min(growth, residentMb(child.pid) - before.mb)
    }
    figure('R20', 'growth, MB', growth, { most: 20 })
  })
})
