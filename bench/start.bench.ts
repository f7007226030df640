import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from './statistics.ts'

const ROUNDS = 10
const IDLE_MS = 5000
const ROOT = process.cwd()
const BARE = `import Fastify from 'fastify'
const app = Fastify()
app.get('/api/health', async () => ({ status: 'ok' }))
await app.listen({ port: 0, host: '127.0.0.1' })
console.log('ready at http://127.0.0.1:' + app.server.address().port)
`

/** Time from spawn to the first 200 of /api/health, and idle memory; compared with a bare Fastify, interleaved. */
export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  const bare = join(ROOT, 'node_modules/.cache/bench/bare.mjs')
  mkdirSync(join(ROOT, 'node_modules/.cache/bench'), { recursive: true })
  writeFileSync(bare, BARE)
  const programs = { toolroom: join(ROOT, 'dist/main.js'), 'bare fastify': bare }
  const startMs: Record<string, number[]> = { toolroom: [], 'bare fastify': [] }
  const rssMb: Record<string, number[]> = { toolroom: [], 'bare fastify': [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, file] of Object.entries(programs)) {
      const { child, ms } = await startToHealthy(file, folder)
      startMs[name]?.push(ms)
      if (round < 3) {
        await sleep(IDLE_MS)
        rssMb[name]?.push(rssOf(child))
      }
      child.kill('SIGTERM')
      await once(child, 'close')
    }
  }
  rmSync(folder, { recursive: true })
  const rows = Object.keys(programs).map((name) => {
    const [start, rss] = [median(startMs[name] ?? []), median(rssMb[name] ?? [])]
    return {
      program: name,
      'start to healthy (ms)': Math.round(start),
      'idle RSS (MB)': Math.round(rss * 10) / 10,
    }
  })
  const ratio = (measured: Record<string, number[]>) =>
    Math.round((median(measured.toolroom ?? []) / median(measured['bare fastify'] ?? [])) * 100) / 100
  return {
    title: `Start and idle memory (median of ${ROUNDS} starts, second start on the same data folder)`,
    rows: [
      ...rows,
      { program: 'ratio', 'start to healthy (ms)': ratio(startMs), 'idle RSS (MB)': ratio(rssMb) },
    ],
  }
}

async function startToHealthy(file: string, home: string): Promise<{ child: ChildProcess; ms: number }> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, HOME: home, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = /ready at (http:\S+)/.exec(text)?.[1]
      if (found) resolve(found)
    })
    child.once('close', () => reject(new Error(`${file} ended before it was ready`)))
  })
  const reply = await fetch(`${address}/api/health`)
  if (reply.status !== 200) throw new Error(`${file} returned ${reply.status}`)
  return { child, ms: performance.now() - startedAt }
}

function rssOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
