import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, round } from './statistics.ts'
import { Toolroom, untilQuiet } from './subjects.ts'

const ROUNDS = 9
const START_WAIT_S = 60
const SAMPLED_MS = 5000 // a server's memory is sampled every 2 s
const DEADLINE_MS = 20 * 60_000
const MUST = 2

/** The last one requires a folder to start. */
const PACKAGES = [
  { name: '@modelcontextprotocol/server-everything', args: [] },
  { name: '@modelcontextprotocol/server-memory', args: [] },
  { name: '@modelcontextprotocol/server-filesystem', args: [tmpdir()] },
] as const

type Subject = (typeof PACKAGES)[number]

/** Environment of the service and of its npm: certificates to reach the registry, and the cache before the network. */
const NPM_ENV = {
  npm_config_prefer_offline: 'true',
  ...(process.env.NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS }),
}

/**
 * The same servers, installed and run by their file, and run by npx from npm's warm cache; by one service, alternating.
 * A start is measured from the request to the response, which is sent when the tools are listed.
 */
export async function run() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  try {
    const toolroom = await Toolroom.open(home, NPM_ENV)
    const late = setTimeout(() => process.kill(toolroom.pid, 'SIGTERM'), DEADLINE_MS)
    try {
      const load = loadavg()
      const measured = []
      for (const subject of PACKAGES) measured.push(await measure(toolroom, subject))
      return reportOf(measured, { before: load, after: loadavg() })
    } finally {
      clearTimeout(late)
      await toolroom.close()
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

interface Measured {
  readonly name: string
  readonly version: string
  readonly firstInstallMs: number
  readonly againMs: readonly number[]
  readonly start: Readonly<Record<Way, readonly number[]>>
  readonly held: Readonly<Record<Way, Held>>
}

type Way = 'installed' | 'npx'
const WAYS: readonly Way[] = ['installed', 'npx']

interface Held {
  readonly rss_bytes: number
  readonly processes: number
}

async function measure(toolroom: Toolroom, { name, args }: Subject): Promise<Measured> {
  const install = () => timed(() => toolroom.ask('POST', '/api/packages/install-npm', { name }))
  await untilQuiet()
  const firstInstallMs = await install()
  const againMs: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) againMs.push(await install())
  const { version } = (await toolroom.ask('GET', `/api/packages/${name}`)) as { version: string }
  const short = name.replace(/^@[^/]+\//, '')
  const ids: Record<Way, string> = { installed: short, npx: `${short}-npx` }
  await toolroom.ask('POST', '/api/servers', { name: ids.installed, package: name, args })
  await toolroom.ask('POST', '/api/servers', {
    name: ids.npx,
    command: 'npx',
    args: ['-y', `${name}@${version}`, ...args],
    env: { npm_config_prefer_offline: 'true' },
  })
  const held: Record<Way, Held> = {
    installed: await hold(toolroom, ids.installed), // the first start of each is not measured
    npx: await hold(toolroom, ids.npx),
  }
  const start: Record<Way, number[]> = { installed: [], npx: [] }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed())
      start[way].push(await msToRunning(toolroom, ids[way]))
  return { name, version, firstInstallMs, againMs, start, held }
}

async function msToRunning(toolroom: Toolroom, id: string): Promise<number> {
  await untilQuiet()
  const ms = await timed(() => toolroom.ask('POST', `/api/servers/${id}/start?wait_s=${START_WAIT_S}`))
  const { status, tool_count } = (await toolroom.ask('GET', `/api/servers/${id}`)) as Shown
  if (status !== 'running' || !tool_count) throw new Error(`${id} is ${status}, with ${tool_count} tools`)
  await toolroom.ask('POST', `/api/servers/${id}/stop`)
  return ms
}

interface Shown {
  readonly status: string
  readonly tool_count: number | null
  readonly resources: Held | null
}

async function hold(toolroom: Toolroom, id: string): Promise<Held> {
  await toolroom.ask('POST', `/api/servers/${id}/start?wait_s=${START_WAIT_S}`)
  await sleep(SAMPLED_MS)
  const { resources } = (await toolroom.ask('GET', `/api/servers/${id}`)) as Shown
  await toolroom.ask('POST', `/api/servers/${id}/stop`)
  if (!resources) throw new Error(`the resources of ${id} were not sampled`)
  const { rss_bytes, processes } = resources
  return { rss_bytes, processes }
}

function reportOf(measured: readonly Measured[], load: object) {
  return {
    title: `Packages, compared with npx with a warm cache (medians of ${ROUNDS} starts)`,
    rows: measured.map(({ name, version, firstInstallMs, againMs, start, held }) => {
      const ratio = median(start.npx) / median(start.installed)
      return {
        package: `${name.replace(/^@[^/]+\//, '')} ${version}`,
        'start, installed (ms)': Math.round(median(start.installed)),
        'start, npx (ms)': Math.round(median(start.npx)),
        'npx ÷ installed': round(ratio),
        must: `≥ ${MUST}`,
        met: ratio >= MUST,
        'install, first (ms)': Math.round(firstInstallMs),
        'install, already installed (ms)': Math.round(median(againMs)),
        'RSS, installed (MiB)': round(held.installed.rss_bytes / 2 ** 20),
        'RSS, npx (MiB)': round(held.npx.rss_bytes / 2 ** 20),
        'processes, npx': held.npx.processes,
      }
    }),
    load,
    measured,
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
