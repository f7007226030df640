import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, percentile, round } from './statistics.ts'
import {
  childrenOf,
  cpuMs,
  Holder,
  idOf,
  rssMib,
  type Subject,
  Toolroom,
  untilNewChild,
  untilQuiet,
} from './subjects.ts'

const SERVERS = 100
const FEW = 10
const SLOTS = 4
const START_ROUNDS = 5
const HOLD_ROUNDS = 3
/** V8 collects the garbage of a start some seconds later, when idle. */
const SETTLE_MS = 25_000
const IDLE_MS = 20_000
const CRASHES = 10
const FREEZES = 3
const LANES = 8
const CALLS = 4000
const EVERY_MS = 10

/**
 * 100 servers, started, kept running, killed and frozen; compared with a bare Node process that runs the same 100,
 * interleaved. A start is measured from the request, to a process that is already up, until all tools are listed.
 */
export async function run() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  const toolroom = () => Toolroom.open(home)
  const holder = (atOnce: number) => () => Holder.open(home, atOnce)
  try {
    await holding(toolroom, (it) => it.register(SERVERS))
    const watched = await holding(toolroom, watchedStart) // the first start is not measured
    const seconds: Record<Start, number[]> = { asked: [], again: [], 'holder, all': [], 'holder, 4': [] }
    for (let round = 0; round < START_ROUNDS; round += 1) {
      await holding(toolroom, (it) => it.stopAll())
      seconds.asked.push(await holding(toolroom, secondsToStart))
      seconds['holder, all'].push(await holding(holder(SERVERS), secondsToStart))
      seconds.again.push(await holding(toolroom, secondsToStart))
      seconds['holder, 4'].push(await holding(holder(SLOTS), secondsToStart))
    }
    const held: { toolroom: Held[]; holder: Held[] } = { toolroom: [], holder: [] }
    const frozen: Frozen[] = []
    for (let round = 0; round < HOLD_ROUNDS; round += 1) {
      await holding(toolroom, async (it) => {
        held.toolroom.push(await hold(it))
        frozen.push(...(await freeze(it)))
      })
      held.holder.push(await holding(holder(SLOTS), hold))
    }
    return reportOf({ watched, seconds, held, frozen })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** `again`: the desired state is already stored. The holder starts all servers at once, or 4 at a time. */
type Start = 'asked' | 'again' | 'holder, all' | 'holder, 4'

/** Closes the subject, also after a failure. */
async function holding<S extends Subject, R>(
  open: () => Promise<S>,
  work: (subject: S) => Promise<R>,
): Promise<R> {
  const subject = await open()
  await untilQuiet()
  try {
    return await work(subject)
  } finally {
    await subject.close()
  }
}

async function secondsToStart(subject: Subject): Promise<number> {
  const startedAt = performance.now()
  await subject.start(SERVERS)
  return (performance.now() - startedAt) / 1000
}

/** A start while polling the service; not timed, because polling takes time itself. */
async function watchedStart(toolroom: Toolroom) {
  const healthMs: number[] = []
  let mostStarting = 0
  let done = false
  const watching = (async () => {
    while (!done) {
      const askedAt = performance.now()
      await toolroom.ask('GET', '/api/health')
      healthMs.push(performance.now() - askedAt)
      // Read the children first: a child that is not running in the later list was not running before either.
      const children = childrenOf(toolroom.pid)
      const running = new Set((await toolroom.running()).map(({ pid }) => pid))
      const starting = children.filter((pid) => !running.has(pid)).length - 1 // one is the reaper
      mostStarting = Math.max(mostStarting, starting)
      await sleep(EVERY_MS)
    }
  })()
  await toolroom.start(SERVERS)
  done = true
  await watching
  const list = await toolroom.list()
  const well = list.filter(
    ({ status, restart_count, last_error }) =>
      status === 'running' && restart_count === 0 && last_error === null,
  )
  return {
    failures: SERVERS - well.length,
    mostStarting,
    healthMs: percentile(healthMs, 99),
    samples: healthMs.length,
  }
}

interface Held {
  readonly mib: number
  readonly mibPerServer: number
  readonly cpuMsPerS: number
  readonly newProcessMs: number
  readonly backMs: number
}

async function hold(subject: Subject): Promise<Held> {
  await subject.start(FEW)
  await sleep(SETTLE_MS)
  const few = rssMib(subject.pid)
  await subject.start(SERVERS)
  await sleep(SETTLE_MS)
  const many = rssMib(subject.pid)
  const before = cpuMs(subject.pid)
  await sleep(IDLE_MS)
  const used = cpuMs(subject.pid) - before
  return {
    mib: many,
    mibPerServer: (many - few) / (SERVERS - FEW),
    cpuMsPerS: used / (IDLE_MS / 1000),
    ...(await crash(subject)),
  }
}

/** Kills servers that have been running for a while, each once. */
async function crash(subject: Subject): Promise<Pick<Held, 'newProcessMs' | 'backMs'>> {
  const [appeared, back]: [number[], number[]] = [[], []]
  for (const server of (await subject.running()).slice(0, CRASHES)) {
    await untilQuiet()
    const before = new Set(childrenOf(subject.pid))
    const killedAt = performance.now()
    process.kill(server.pid, 'SIGKILL')
    appeared.push((await untilNewChild(subject.pid, before)) - killedAt)
    await subject.back(server)
    back.push(performance.now() - killedAt)
  }
  return { newProcessMs: median(appeared), backMs: median(back) }
}

interface Frozen {
  readonly beforeMs: number
  readonly duringMs: number
}

/** 99th percentile of calls to the other servers while one server is stopped with a call pending. */
async function freeze(toolroom: Toolroom): Promise<Frozen[]> {
  const call = (id: string) =>
    toolroom.ask('POST', `/api/servers/${id}/tools/echo/call`, { arguments: { text: 'hello' } })
  const ids = Array.from({ length: SERVERS }, (_, n) => idOf(n))
  const [cold = '', ...others] = ids
  const load = async () => {
    const ms: number[] = []
    let asked = 0
    const lane = async () => {
      while (asked < CALLS) {
        const id = others[asked % others.length] ?? ''
        asked += 1
        const askedAt = performance.now()
        await call(id)
        ms.push(performance.now() - askedAt)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return percentile(ms, 99)
  }
  await load() // warm
  const found: Frozen[] = []
  for (let round = 0; round < FREEZES; round += 1) {
    await untilQuiet()
    const beforeMs = await load()
    const pid = (await toolroom.list()).find(({ id }) => id === cold)?.pid
    if (!pid) throw new Error(`${cold} is not running`)
    process.kill(pid, 'SIGSTOP')
    const owed = call(cold)
    const duringMs = await load()
    process.kill(pid, 'SIGCONT')
    await owed
    found.push({ beforeMs, duringMs })
  }
  return found
}

interface Measured {
  readonly watched: Awaited<ReturnType<typeof watchedStart>>
  readonly seconds: Readonly<Record<Start, readonly number[]>>
  readonly held: { readonly toolroom: readonly Held[]; readonly holder: readonly Held[] }
  readonly frozen: readonly Frozen[]
}

function reportOf({ watched, seconds, held, frozen }: Measured) {
  const bare = Math.min(median(seconds['holder, all']), median(seconds['holder, 4']))
  const of = (who: keyof typeof held, what: keyof Held) => median(held[who].map((each) => each[what]))
  const both = (what: keyof Held) => [of('toolroom', what), of('holder', what)] as const
  const [before, during] = [
    median(frozen.map(({ beforeMs }) => beforeMs)),
    median(frozen.map(({ duringMs }) => duringMs)),
  ]
  return {
    title: `${SERVERS} servers (medians of ${START_ROUNDS} starts and of ${HOLD_ROUNDS} measurements while running)`,
    rows: [
      row('all ready, s', median(seconds.asked), bare, 'ratio', 1.25),
      row('all ready, desired state already stored, s', median(seconds.again), bare, 'ratio', 1.25),
      row('servers that failed to start', watched.failures, undefined, 'value', 0),
      row('starting at the same time, maximum', watched.mostStarting, undefined, 'value', SLOTS),
      row('GET /api/health during the start, p99 ms', watched.healthMs, undefined, 'value', 250),
      row('RSS with all servers, MiB', ...both('mib'), 'value', 110),
      row('RSS per extra idle server, MiB', ...both('mibPerServer'), 'value', 0.15),
      row('idle CPU, ms per s', ...both('cpuMsPerS'), 'value', 5),
      row('killed: new process, ms', ...both('newProcessMs'), 'value', 30),
      row('killed: ready again, ms', ...both('backMs'), 'value', undefined),
      row('p99 of a call, ms', before, undefined, 'value', undefined),
      row('p99 of a call, another server frozen ÷ none', during / before, undefined, 'value', 1.2),
    ],
    measured: { watched, seconds, held, frozen },
  }
}

function row(
  what: string,
  toolroom: number,
  holder: number | undefined,
  judged: 'ratio' | 'value',
  must?: number,
) {
  const ratio = holder ? toolroom / holder : undefined
  const figure = judged === 'ratio' ? ratio : toolroom
  return {
    what,
    toolroom: round(toolroom),
    holder: holder === undefined ? '' : round(holder),
    ratio: ratio === undefined ? '' : round(ratio),
    must: must === undefined ? '' : `${judged === 'ratio' ? '÷ ' : ''}≤ ${round(must)}`,
    met: must === undefined ? '' : (figure ?? Number.NaN) <= must,
  }
}
