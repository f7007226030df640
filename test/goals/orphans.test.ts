import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { isStillThere, processesMarked, readProcess } from '../../src/supervisor/process-table.ts'
import { leftAfter, ownMark, untilMarked } from '../support/marked.ts'

const CYCLES = process.env.TOOLROOM_GOALS === 'full' ? 1000 : 30
const here = fileURLToPath(new URL('.', import.meta.url))
const folder = join(here, `../../node_modules/.cache/orphans-test-${process.pid}`)
const service = join(folder, 'reaped-service.mjs')

beforeAll(async () => {
  const input = join(here, '../support/reaped-service.ts')
  await build({ input, platform: 'node', output: { file: service, format: 'esm' } })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FORK = "const { spawn } = require('child_process');"
const DEAF = "process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {}); setInterval(() => {}, 1000)"
const sleeper = (options: string) => `spawn('sleep', ['300'], ${options});`
const KINDS = [
  "process.stdin.resume().on('end', () => process.exit())", // polite
  DEAF,
  `${FORK} ${sleeper('{}').repeat(3)} ${DEAF}`,
  `${FORK} ${sleeper('{ detached: true }').repeat(3)} ${DEAF}`,
]
const PROCESSES = 1 + 1 + 4 + 4

async function startService(mark: string) {
  const child = spawn(process.execPath, [service, mark, ...KINDS], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [text] = await once(child.stdout, 'data')
  const reaper = readProcess(Number(/ready (\d+)/.exec(String(text))?.[1]))
  expect(await untilMarked(mark, PROCESSES)).toBe(PROCESSES)
  return { child, reaper: reaper ?? { pid: 0, startedAt: 0 } }
}

test.runIf(process.platform === 'linux')(
  `R3: ${CYCLES} times kill -9 of the service, and 2 s later nothing that it started is left`,
  async () => {
    const slowest: number[] = []
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const mark = ownMark()
      const { child, reaper } = await startService(mark)
      const killedAt = performance.now()
      child.kill('SIGKILL')
      expect(await leftAfter(mark, 2000), `cycle ${cycle}`).toBe(0)
      slowest.push(performance.now() - killedAt)
      const end = performance.now() + 2000
      while (isStillThere(reaper) && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 50))
      expect(isStillThere(reaper), 'the reaper itself').toBe(false)
    }
    console.log(`slowest end after a kill: ${Math.round(Math.max(...slowest))} ms`)
  },
  3_600_000,
)

test.runIf(process.platform === 'linux')(
  'a service that ends in good order takes its reaper along, and the reaper ends nobody',
  async () => {
    const mark = ownMark()
    const { child, reaper } = await startService(mark)
    child.kill('SIGTERM')
    await once(child, 'exit')
    await new Promise((resolve) => setTimeout(resolve, 800))
    expect(isStillThere(reaper)).toBe(false)
    expect(processesMarked(mark).length).toBe(PROCESSES - 1) // the polite one heard its input end
  },
)

test.runIf(process.platform === 'linux')(
  'a reaper that somebody ended comes back and knows everybody',
  async () => {
    const mark = ownMark()
    const { child, reaper } = await startService(mark)
    process.kill(reaper.pid, 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 1200))
    child.kill('SIGKILL')
    expect(await leftAfter(mark, 2000)).toBe(0)
  },
)
