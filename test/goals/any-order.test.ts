import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Servers } from '../../src/servers/stdio/servers.service.ts'
import { listProcesses, processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { definition } from '../support/running-servers.ts'
import { openTestService } from '../support/test-service.ts'

const SERVERS = 20
const COMMANDS = 200
const RUNS = runs(3, 10, 100)
const OPERATIONS = RUNS * 100

/** The expected state after all responses. */
interface Model {
  readonly servers: Map<string, { desired: 'running' | 'stopped'; killed: boolean }>
}

interface Real {
  readonly servers: Servers
  readonly mark: string
  pending: Promise<unknown>[]
}

const by = { request_id: null }
const nameOf = (n: number) => `s${n}`
const light = fileURLToPath(new URL('../fixtures/servers/light.sh', import.meta.url))
/** Every fifth server ignores signals and has to be killed. Most are shell scripts, which start faster than Node. */
const definitionOf = (n: number) =>
  n % 5 === 4 || n % 5 === 0
    ? definition(n % 5 === 4 ? 'deaf' : 'echo', [], { name: nameOf(n) })
    : definition('light', [], { name: nameOf(n), command: '/bin/sh', args: [light] })

type Command = fc.AsyncCommand<Model, Real>

/** Sends without waiting: the next request may overtake the effect of this one, but not its decision. */
function asking(verb: string, n: number, update: (model: Model, id: string) => void): Command {
  const id = nameOf(n)
  const ask: Record<string, (servers: Servers) => Promise<unknown>> = {
    start: (servers) => servers.start(id, 30, by),
    stop: (servers) => servers.stop(id, by),
    restart: (servers) => servers.restart(id, 30, by),
    remove: (servers) => servers.remove(id, by),
    edit: (servers) => servers.change(id, undefined, { env: { N: String(Math.random()) } }, by),
    describe: (servers) => servers.change(id, undefined, { description: String(Math.random()) }, by),
  }
  return {
    check: (model) => model.servers.has(id),
    run: async (model, real) => {
      update(model, id)
      real.pending.push(ask[verb]?.(real.servers) ?? Promise.resolve())
    },
    toString: () => `${verb} ${id}`,
  }
}

/** A start may find a process whose exit was not noticed yet; a stop or a restart replaces it. */
const desiring =
  (desired: 'running' | 'stopped', keeps = false) =>
  (model: Model, id: string) => {
    const killed = keeps && model.servers.get(id)?.killed === true
    model.servers.set(id, { desired, killed })
  }

const kill = (n: number): Command => ({
  check: (model) => model.servers.has(nameOf(n)),
  run: async (model, real) => {
    const server = model.servers.get(nameOf(n))
    if (server) server.killed = true
    for (const pid of pidsByServer(real.mark).get(nameOf(n)) ?? []) process.kill(pid, 'SIGKILL')
  },
  toString: () => `kill ${nameOf(n)}`,
})

const add = (n: number): Command => ({
  check: (model) => !model.servers.has(nameOf(n)),
  run: async (model, real) => {
    await Promise.allSettled(real.pending) // the name is free after the last request
    await real.servers.add(definitionOf(n), by)
    model.servers.set(nameOf(n), { desired: 'stopped', killed: false })
  },
  toString: () => `add ${nameOf(n)}`,
})

const settle: Command = {
  check: () => true,
  run: async (model, real) => {
    const answers = await Promise.allSettled(real.pending)
    real.pending = []
    const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : []))
    expect(
      faults.filter((code) => !['not_found', 'server_not_running', 'server_start_failed'].includes(code)),
    ).toEqual([])
    const known = await real.servers.list()
    expect(known.map(({ id }) => id).sort()).toEqual([...model.servers.keys()].sort())
    const settled = []
    for (const { id } of known) settled.push(await settles(id, model, real))
    const pids = pidsByServer(real.mark)
    for (const { id, pid } of settled.filter(({ isStable }) => isStable))
      expect([id, pids.get(id) ?? []]).toEqual([id, pid === null ? [] : [pid]])
  },
  toString: () => 'settle',
}

/** Waits for the expected status. The process of a server that was killed may be a new one a moment later. */
async function settles(id: string, model: Model, { servers }: Real) {
  const { desired, killed } = model.servers.get(id) ?? { desired: 'stopped', killed: false }
  const look = async () => servers.view(await servers.get(id), true)
  // The response to a change does not wait for the restart.
  const isRestless = (status: string) => ['starting', 'stopping'].includes(status)
  await expect.poll(async () => (await look()).status, { timeout: 60_000 }).not.toSatisfy(isRestless)
  const { status, desired_state, pid } = await look()
  expect([id, desired_state]).toEqual([id, desired])
  const allowed =
    desired === 'stopped' ? ['stopped'] : killed ? ['running', 'backoff', 'starting'] : ['running']
  expect(allowed, `${id} should be ${desired}`).toContain(status)
  return { id, pid, isStable: status !== 'starting' && !killed }
}

describe.runIf(process.platform === 'linux')('random operations', () => {
  test(`R19: ${OPERATIONS} random operations on ${SERVERS} servers end as a model predicts, never with two processes of one server`, {
    timeout: 3_600_000,
  }, async () => {
    const server = fc.nat(SERVERS - 1)
    const commands = fc.commands(
      [
        server.map((n) => asking('start', n, desiring('running', true))),
        server.map((n) => asking('start', n, desiring('running', true))),
        server.map((n) => asking('stop', n, desiring('stopped'))),
        server.map((n) => asking('restart', n, desiring('running'))),
        server.map((n) => asking('edit', n, () => {})),
        server.map((n) => asking('describe', n, () => {})),
        server.map((n) => asking('remove', n, (model, id) => void model.servers.delete(id))),
        server.map(kill),
        server.map(add),
        fc.constant(settle),
      ],
      { size: 'max', maxCommands: COMMANDS },
    )
    let asked = 0
    await fc.assert(
      fc.asyncProperty(commands, async (all) => {
        const service = await openTestService()
        const mark = `TOOLROOM_CHILD=${readFileSync(join(service.data, 'child-mark'), 'utf8').trim()}`
        const { servers } = service
        const real: Real = { servers, mark, pending: [] }
        const model: Model = { servers: new Map() }
        for (let n = 0; n < SERVERS; n += 1) await add(n).run(model, real)
        const twins = watchForTwins(mark)
        await fc.asyncModelRun(() => ({ model, real }), [...all, settle])
        asked += [...all].length
        await service.close()
        expect(twins()).toEqual([])
        expect(processesMarked(mark)).toEqual([])
        await expect.poll(zombies).toEqual([]) // until their exit is noticed
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 1_800_000, ...(FULL ? {} : { seed: 8665 }) },
    )
    figure('R19', 'random operations that ended as the model predicts', asked, { least: OPERATIONS })
  })
})

/** Polls for two processes of one server, and returns the findings. */
function watchForTwins(mark: string): () => string[] {
  const seen: string[] = []
  const look = () => {
    for (const [id, pids] of pidsByServer(mark))
      if (pids.length > 1) seen.push(`${id}: ${pids.join(' and ')}`)
  }
  const timer = setInterval(look, runs(100, 50))
  onTestFinished(() => clearInterval(timer))
  return () => {
    clearInterval(timer)
    return seen
  }
}

/** Reads the environment of every process on this computer. */
function pidsByServer(mark: string): Map<string, number[]> {
  const byServer = new Map<string, number[]>()
  for (const { pid } of processesMarked(mark)) {
    const id = serverOf(pid)
    if (id !== undefined) byServer.set(id, [...(byServer.get(id) ?? []), pid])
  }
  return byServer
}

/** The server id in the mark of a process. */
function serverOf(pid: number): string | undefined {
  try {
    return /TOOLROOM_CHILD=[0-9a-f]+\/[0-9a-f]{8}\/([^/]+)\//.exec(
      readFileSync(`/proc/${pid}/environ`, 'latin1'),
    )?.[1]
  } catch {
    return undefined // it has just exited
  }
}

const zombies = () => listProcesses().filter(({ parent, zombie }) => parent === process.pid && zombie)
