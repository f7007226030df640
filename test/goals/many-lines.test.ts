import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { longLife } from '../support/long-life.ts'
import { launchReady } from '../support/program.ts'

const LINES = runs(100_000, 1_000_000)
const MAX_GROWTH_MB = 25

const residentMb = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** The test that measures the growth of a new process is the first one. */
const opened = sharedByTests(() => {
  const home = ownFolder()
  longLife(home, LINES)
  return launchReady({ home, env: { LOG_MAX_MB: '1024' } })
})

test.runIf(process.platform === 'linux')(
  'a client that stops reading a download does not make the service buffer it',
  async () => {
    const { address, child } = await opened()
    await (await fetch(`${address}/api/logs?limit=1000`)).text()
    const before = residentMb(child.pid)
    const stuck = await Promise.all(Array.from({ length: 5 }, () => fetch(`${address}/api/logs/download`)))
    await new Promise((resolve) => setTimeout(resolve, 3000))
    expect(residentMb(child.pid) - before).toBeLessThan(2 * MAX_GROWTH_MB)
    await Promise.all(stuck.map((reply) => reply.body?.cancel()))
  },
  600_000,
)

test.runIf(process.platform === 'linux')(
  `a download of ${LINES} lines is complete, uses constant memory, and does not block other requests`,
  async () => {
    const { address, child } = await opened()
    const first = await download(address, child.pid)
    const again = await download(address, child.pid)
    expect(again.lines).toBe(LINES)
    expect(again.bytes).toBeGreaterThan(LINES * 200)
    // Memory allocated for the first download is reused by later ones of any length.
    expect(again.highestMb - first.highestMb).toBeLessThan(MAX_GROWTH_MB)
    expect((await fetch(`${address}/api/health`)).status).toBe(200)
  },
  600_000,
)

async function download(address: string, pid: number | undefined) {
  const reply = await fetch(`${address}/api/logs/download?until=2026-06-01`)
  let bytes = 0
  let lines = 0
  let pieces = 0
  let highestMb = 0
  for await (const piece of reply.body ?? []) {
    bytes += piece.length
    for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) lines += 1
    pieces += 1
    if (pieces % 50 === 0) highestMb = Math.max(highestMb, residentMb(pid))
  }
  return { bytes, lines, highestMb: Math.max(highestMb, residentMb(pid)) }
}
