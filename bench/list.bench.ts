import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './statistics.ts'

const SERVERS = 100
const ROUNDS = 5
const ROUND_MS = 2000
const CONNECTIONS = 20
const TOKEN = '0123456789abcdef'.repeat(4)
const ROOT = process.cwd()

/** GET of a list of 100 servers, with request checks, redaction and serialisation, compared with bare node:http; interleaved. */
export async function run() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  const toolroom = await launch(join(ROOT, 'dist/main.js'), home)
  const bare = await launch(join(ROOT, 'bench/bare-list.mjs'), home)
  for (let n = 0; n < SERVERS; n += 1) {
    const body = {
      name: `server ${n}`,
      command: 'npx',
      args: ['-y', `package-${n}`, '--token', 'x'],
      env: { A: 'b', C: 'd' },
    }
    await fetch(`${toolroom.address}/api/servers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-token': TOKEN },
      body: JSON.stringify(body),
    })
  }
  const list = (await (await fetch(`${toolroom.address}/api/servers`)).json()) as { items: unknown[] }
  await fetch(bare.address, { method: 'POST', body: JSON.stringify(list.items) })
  const rates: Record<'toolroom' | 'bare', number[]> = { toolroom: [], bare: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.toolroom.push(await rate(`${toolroom.address}/api/servers`))
    rates.bare.push(await rate(`${bare.address}/`))
  }
  for (const { child } of [toolroom, bare]) child.kill('SIGTERM')
  rmSync(home, { recursive: true, force: true })
  const [ours, theirs] = [median(rates.toolroom), median(rates.bare)]
  const rows = [
    { program: 'toolroom', 'requests per second': Math.round(ours) },
    { program: 'bare node:http', 'requests per second': Math.round(theirs) },
    { program: 'ratio', 'requests per second': Math.round((ours / theirs) * 100) / 100 },
  ]
  return {
    title: `GET /api/servers with ${SERVERS} servers, ${CONNECTIONS} connections (median of ${ROUNDS} rounds)`,
    rows,
  }
}

async function launch(file: string, home: string): Promise<{ child: ChildProcess; address: string }> {
  const env = { PATH: process.env.PATH, HOME: home, PORT: '0', AUTH_TOKEN: TOKEN }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const address = await new Promise<string>((resolve) => {
    child.stdout.on('data', (text) => {
      const found = /ready at (http:\S+)/.exec(String(text))?.[1]
      if (found) resolve(found)
    })
  })
  return { child, address }
}

async function rate(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const end = performance.now() + ROUND_MS
  let done = 0
  const lane = async () => {
    while (performance.now() < end) {
      await new Promise<void>((resolve, reject) => {
        get(url, { agent }, (reply) => reply.resume().on('end', resolve)).on('error', reject)
      })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  agent.destroy()
  return done / (ROUND_MS / 1000)
}
