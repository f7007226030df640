import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, Toolroom } from '../subjects.ts'
import { ECHO, Listening, type Measured } from './programs.ts'
import { firstCall, headersOf, legacyCall, legacyList, message, modernCall, visit } from './requests.ts'
import { interleaved } from './rounds.ts'
import { keyOf, Opened, openEverything, openLibrary, type Scene, serve, type Visited } from './scene.ts'

const IN_FLIGHT = 64
const KIB_256 = 256 * 1024
const SMALL = { text: 'hello' }
const LARGE = { text: 'x'.repeat(KIB_256) }
const OWED = 16
export const LIBRARY = { servers: 20, tools: 50 }

export interface Size {
  readonly rounds: number
  /** Share of the calls in a full round. */
  readonly share: number
}

/** Runs enough calls for V8 to optimise the code before anything is measured. */
export async function warm(scene: Scene): Promise<void> {
  const { ours, floor, passThrough } = scene
  const many = { lanes: IN_FLIGHT, times: 4000 }
  for (const who of [ours, floor, passThrough]) await asked(scene, who, callOf(who, 'echo', SMALL), many)
  await asked(scene, ours, [modernCall(ours.agent, 'echo__echo', SMALL)], many)
}

export function oneByOne(scene: Scene, { rounds, share }: Size) {
  const times = 2000 * share
  const { ours, floor, passThrough, stdio } = scene
  const all = (who: Visited, steps = callOf(who, 'echo', SMALL)) =>
    asked(scene, who, steps, { lanes: 1, times })
  return interleaved(rounds, {
    ours: () => all(ours),
    modern: () => all(ours, [modernCall(ours.agent, 'echo__echo', SMALL)]),
    passThrough: () => all(passThrough),
    floor: () => all(floor),
    stdio: async () => ({ ...(await stdio.run({ times, line: lineOf(SMALL) })), cpuUs: 0 }),
  })
}

export function atOnce(scene: Scene, { rounds, share }: Size) {
  const times = 20_000 * Math.max(share, 0.4) // the kernel counts CPU in hundredths of a second
  const { ours, floor, passThrough } = scene
  const all = (who: Visited, steps = callOf(who, 'echo', SMALL)) =>
    asked(scene, who, steps, { lanes: IN_FLIGHT, times })
  return interleaved(rounds, {
    ours: () => all(ours),
    modern: () => all(ours, [modernCall(ours.agent, 'echo__echo', SMALL)]),
    passThrough: () => all(passThrough),
    floor: () => all(floor),
  })
}

/** 256 KiB of arguments, and as much of a result. */
export function large(scene: Scene, { rounds, share }: Size) {
  const times = 200 * share
  const { ours, floor, passThrough, stdio } = scene
  const p50 = async (who: Visited) =>
    (await asked(scene, who, callOf(who, 'echo', LARGE), { lanes: 1, times })).p50
  return interleaved(rounds, {
    ours: () => p50(ours),
    passThrough: () => p50(passThrough),
    floor: () => p50(floor),
    stdio: async () => (await stdio.run({ times, line: lineOf(LARGE) })).p50,
  })
}

/** A small request with a result of 256 KiB. The baseline generates the text and its JSON itself. */
export function largeResults(scene: Scene, { rounds, share }: Size) {
  const { ours, floor, passThrough } = scene
  const cpu = async (who: Visited) => {
    const steps = callOf(who, 'big', { bytes: KIB_256 })
    return (await asked(scene, who, steps, { lanes: 8, times: 1500 * Math.max(share, 0.4) })).cpuUs
  }
  return interleaved(rounds, {
    ours: () => cpu(ours),
    passThrough: () => cpu(passThrough),
    floor: () => cpu(floor),
  })
}

/** initialize, notifications/initialized, tools/list and DELETE, one after the other on one connection. */
export async function visits(scene: Scene, { rounds, share }: Size) {
  const { ours, floor } = scene
  await giveList(floor, await listOf(ours))
  const p50 = async (who: Visited) =>
    (await asked(scene, who, visit(who.agent), { lanes: 1, times: 500 * share })).p50
  return interleaved(rounds, { ours: () => p50(ours), floor: () => p50(floor) })
}

/** Latency of calls to one server while another is frozen with 16 pending calls of 256 KiB. */
export async function frozen(scene: Scene, { rounds, share }: Size) {
  const { ours, owing, coldPid, coldSession } = scene
  const p99 = async () =>
    (await asked(scene, ours, callOf(ours, 'echo', SMALL), { lanes: 8, times: 6000 * share })).p99
  const steps = [legacyCall(ours.agent, coldSession, 'cold__echo', LARGE)]
  return interleaved(rounds, {
    before: p99,
    during: async () => {
      process.kill(coldPid, 'SIGSTOP')
      try {
        const owed = owing.run({ port: ours.port, lanes: OWED, times: OWED, steps })
        owed.catch(() => {}) // awaited below
        await sleep(200) // until they have arrived
        const during = await p99()
        process.kill(coldPid, 'SIGCONT')
        await owed
        return during
      } finally {
        process.kill(coldPid, 'SIGCONT')
      }
    },
  })
}

/** The HTTP baseline sends the gateway's bytes; the bare server serialises the same number of tools. */
export async function library(scene: Scene, { rounds, share }: Size, home: string) {
  const opened = new Opened()
  try {
    const { ours, floor, stdio } = await openLibrary(home, opened, scene.load, LIBRARY)
    const list = await listOf(ours)
    await giveList(floor, list)
    const times = 200 * share
    const p50 = async (who: Visited) => {
      const steps = [legacyList(who.agent, who.session)]
      return (await asked(scene, who, steps, { lanes: 1, times })).p50
    }
    const line = JSON.stringify(message('tools/list', {}))
    const found = await interleaved(rounds, {
      ours: () => p50(ours),
      floor: () => p50(floor),
      stdio: async () => (await stdio.run({ times, line })).p50,
    })
    return { ...found, tools: JSON.parse(list).result.tools.length, bytes: list.length }
  } finally {
    await opened.close()
  }
}

export async function everything(scene: Scene, { rounds, share }: Size, home: string) {
  const opened = new Opened()
  try {
    const { ours, own } = await openEverything(home, opened, scene.load)
    const call = (who: Visited, name: string, lanes: number, times: number) => {
      const steps = [legacyCall(who.agent, who.session, name, { message: 'hello' })]
      return asked(scene, who, steps, { lanes, times: times * share })
    }
    return {
      oneByOne: await interleaved(rounds, {
        ours: async () => (await call(ours, 'everything__echo', 1, 500)).p50,
        own: async () => (await call(own, 'echo', 1, 500)).p50,
      }),
      atOnce: await interleaved(rounds, {
        ours: async () => (await call(ours, 'everything__echo', IN_FLIGHT, 3000)).perSecond,
        own: async () => (await call(own, 'echo', IN_FLIGHT, 3000)).perSecond,
      }),
    }
  } finally {
    await opened.close()
  }
}

/** From the start of the process to the response to its first call: initialize, then tools/call. */
export async function launches({ load }: Scene, { rounds }: Size, parent: string) {
  const home = join(parent, 'launch')
  const first = await Toolroom.open(home)
  await serve(first, 'echo', [ECHO], { start_mode: 'eager' })
  const key = await keyOf(first)
  await first.close()
  const ms = async (open: () => Promise<{ address: string; close(): Promise<void> }>) => {
    const startedAt = performance.now()
    const { address, close } = await open().then((it) => ({ address: it.address, close: () => it.close() }))
    try {
      const { host, port } = new URL(address)
      const steps = firstCall({ host, key }, 'echo__echo', SMALL)
      await load.run({ port: Number(port), lanes: 1, times: 1, steps })
      return performance.now() - startedAt
    } finally {
      await close()
    }
  }
  return interleaved(rounds, {
    ours: () => ms(() => Toolroom.open(home)),
    passThrough: () => ms(() => Listening.passThrough(home)),
  })
}

async function listOf({ agent, port, session }: Visited): Promise<string> {
  const headers = { ...headersOf(agent), 'mcp-session-id': session }
  const body = JSON.stringify({ ...message('tools/list', {}), id: 1 })
  return (await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body })).text()
}

const giveList = ({ port }: Visited, body: string) =>
  fetch(`http://127.0.0.1:${port}/list`, { method: 'PUT', body })

interface Figures extends Measured {
  /** CPU of the measured process, all threads. */
  readonly cpuUs: number
}

async function asked(
  { load }: Pick<Scene, 'load'>,
  { pid, port }: Pick<Visited, 'pid' | 'port'>,
  steps: readonly string[],
  { lanes, times }: { lanes: number; times: number },
): Promise<Figures> {
  const before = cpuMs(pid)
  const measured = await load.run({ port, lanes, times, steps })
  return { ...measured, cpuUs: ((cpuMs(pid) - before) * 1000) / times }
}

const callOf = ({ agent, session }: Visited, tool: string, args: object) => [
  legacyCall(agent, session, `echo__${tool}`, args),
]
const lineOf = (args: object) => JSON.stringify(message('tools/call', { name: 'echo', arguments: args }))
