import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Plan } from '../kernel/server-plan.ts'
import type { Life, Resources, ServerState, StartOutcome } from '../kernel/server-state.ts'
import { CallFailure } from '../mcp/protocol/call-failure.ts'
import { cleanError, launch, type McpConnection, type OnLine, type Streams } from './launcher.ts'
import type { Places } from './places/places.ts'
import { ResourceSampler, SAMPLE_EVERY_MS, type Sampled } from './process/resource-sampler.ts'
import { StartFailure } from './process/start-child.ts'
import { type Graces, gracesWithin } from './process/stop-ladder.ts'
import { Runner } from './runner.ts'
import type { StartSlots } from './start-slots.ts'

export interface Deps<C extends McpConnection> {
  readonly connect: (id: string, plan: Plan, streams: Streams) => C
  /** `NAME=value`. The id of each server is appended. */
  readonly mark: string
  readonly places: Pick<Places, 'start' | 'endAll'>
  readonly slots: StartSlots
  readonly clean: (text: string) => string
  readonly onState: (id: string, state: ServerState, cause: string) => void
  readonly onLine: (id: string, ...line: Parameters<OnLine>) => void
  readonly onResources: (id: string, resources: Resources) => void
  /** Whether a client follows the resources, which are then read for every server each time. */
  readonly isWatched: () => boolean
}

interface Entry<C> {
  readonly runner: Runner
  plan: Plan
  client: C | undefined
  resources: Resources | null
  /** Calls in progress. The server does not go to sleep during a call. */
  calls: number
  /** All calls so far. */
  used: number
  sleepTimer: NodeJS.Timeout | undefined
}

/** At the end of the service this limits every server's own `stop_s`. */
const CLOSE_WITHIN_S = 5

/** Runs all registered servers, one runner each. */
export class Supervisor<C extends McpConnection> {
  readonly #deps: Deps<C>
  readonly #entries = new Map<string, Entry<C>>()
  readonly #sampler = new ResourceSampler(() => performance.now())
  #sampling: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: Deps<C>) {
    this.#deps = deps
  }

  /** Adds a server, or changes its plan. A running server uses the new plan from its next start on. */
  register(id: string, plan: Plan): void {
    const known = this.#entries.get(id)
    if (known) {
      known.plan = plan
      this.#setSleepTimer(known)
    } else this.#entries.set(id, this.#newEntry(id, plan))
  }

  /** Resolves when it is running, or when the attempt has failed. */
  start(id: string): Promise<StartOutcome> {
    if (this.#closed) return Promise.resolve({ ok: false, error: SHUTTING_DOWN })
    const runner = this.#entries.get(id)?.runner
    return runner ? runner.start() : Promise.resolve({ ok: false, error: REMOVED })
  }

  /** Resolves when the process and its children have ended. */
  async stop(id: string): Promise<void> {
    await this.#entries.get(id)?.runner.stop()
  }

  async sleep(id: string): Promise<void> {
    await this.#entries.get(id)?.runner.sleep()
  }

  /**
   * Starts a server once, to see whether it works. One that was asleep, or that had failed, is asleep again afterwards,
   * unless a call has used it meanwhile or a user has stopped it.
   */
  async tryOnce(id: string): Promise<StartOutcome> {
    const entry = this.#entries.get(id)
    if (!entry) return { ok: false, error: REMOVED }
    const { runner, used, plan } = entry
    const { status } = runner.state
    const outcome = await this.start(id)
    await nextTurn() // calls that waited for this start, too, begin now
    const isOver = outcome.ok || status === 'idle'
    const isUsed = entry.used !== used || entry.calls > 0
    const sleeps = (status === 'idle' || status === 'failed') && plan.sleeps_after_s !== null
    if (sleeps && isOver && !isUsed && runner.isWanted) await runner.sleep(TRIED)
    return outcome
  }

  /**
   * For a call: starts a server that is asleep, and waits for one that is starting or will be retried. Does not start a
   * server that was stopped. Fails at once if the next attempt begins after `withinMs`.
   */
  wake(id: string, withinMs?: number): Promise<StartOutcome> {
    const runner = this.#entries.get(id)?.runner
    if (!runner) return Promise.resolve({ ok: false, error: REMOVED })
    return runner.isAsleep ? this.start(id) : runner.join(withinMs)
  }

  restart(id: string): Promise<StartOutcome> {
    void this.stop(id)
    return this.start(id)
  }

  life(id: string): Life<C> {
    const entry = this.#entries.get(id)
    if (!entry) return NO_LIFE
    const { state, restartCount, recentExits, lastError, uptimeMs } = entry.runner
    const running = state.status === 'running'
    return {
      state,
      restartCount,
      lastExit: recentExits[0] ?? null,
      recentExits,
      lastError,
      uptimeMs,
      resources: running ? entry.resources : null,
      client: entry.runner.isConnected ? entry.client : undefined,
    }
  }

  clientOf(id: string): C | undefined {
    const entry = this.#entries.get(id)
    return entry?.runner.isConnected ? entry.client : undefined
  }

  statusOf(id: string): ServerState['status'] {
    return this.#entries.get(id)?.runner.state.status ?? NO_LIFE.state.status
  }

  /** Uses the connection of a running server, which does not go to sleep meanwhile. Rejects with a CallFailure. */
  async using<R>(id: string, use: (client: C) => Promise<R>): Promise<R> {
    const entry = this.#entries.get(id)
    if (entry?.client === undefined || !entry.runner.isConnected)
      throw new CallFailure('closed', 'The server is not running')
    entry.used += 1
    const release = this.#keepAwake(entry)
    try {
      return await use(entry.client)
    } finally {
      release()
    }
  }

  /** Until the returned function is called, the server does not go to sleep. */
  keepAwake(id: string): () => void {
    const entry = this.#entries.get(id)
    return entry ? this.#keepAwake(entry) : () => {}
  }

  #keepAwake(entry: Entry<C>): () => void {
    entry.calls += 1
    return () => {
      entry.calls -= 1
      if (entry.calls === 0) this.#restartSleepTimer(entry)
    }
  }

  async remove(id: string): Promise<void> {
    await this.#entries.get(id)?.runner.stop(UNNEEDED) // which ends the timer
    this.#entries.delete(id)
  }

  /** Stops all servers at the same time. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sampling)
    for (const entry of this.#entries.values()) this.#setSleepTimer(entry)
    const stopped = Promise.all([...this.#entries.values()].map(({ runner }) => runner.stop(ENDING)))
    const deadline = new AbortController()
    const forced = sleep((CLOSE_WITHIN_S + 1) * 1000, undefined, { signal: deadline.signal }).then(
      () => this.#deps.places.endAll(), // for a stop that began earlier, with a longer `stop_s`
      () => {},
    )
    await stopped
    deadline.abort()
    await forced
  }

  #newEntry(id: string, plan: Plan): Entry<C> {
    const { slots, places, clean, onLine } = this.#deps
    const runner = new Runner({
      rules: () => entry.plan.restart,
      sleeps: () => entry.plan.sleeps_after_s !== null,
      slots,
      onState: (state, cause) => this.#onState(id, entry, state, cause),
      now: Date.now,
      random: Math.random,
      launch: async () => {
        const { program, cwd, confinement } = entry.plan
        const found = program(id)
        if (!found.ok) throw new StartFailure(cleanError(found.error, clean), false)
        return launch({
          definition: { ...found, cwd, confinement, serverId: id.split('~')[0] ?? id }, // without the number of an instance,
          mark: `${this.#deps.mark}/${id}/`, // with a final slash, or the mark of `a` would be a prefix of that of `ab`
          graces: () => this.#gracesOf(entry),
          places,
          clean,
          onLine: (...line) => onLine(id, ...line),
          connect: (streams) => {
            entry.client = this.#deps.connect(id, entry.plan, streams)
            return entry.client
          },
        })
      },
    })
    const entry: Entry<C> = {
      runner,
      plan,
      client: undefined,
      resources: null,
      calls: 0,
      used: 0,
      sleepTimer: undefined,
    }
    return entry
  }

  #gracesOf({ plan }: Entry<C>): Graces {
    const { stop_s } = plan.timeouts
    return gracesWithin(this.#closed ? Math.min(stop_s, CLOSE_WITHIN_S) : stop_s)
  }

  #onState(id: string, entry: Entry<C>, state: ServerState, cause: string): void {
    entry.resources = null
    if (state.status === 'running') this.#sampling ??= this.#startSampling()
    this.#setSleepTimer(entry)
    this.#deps.onState(id, state, cause)
  }

  #setSleepTimer(entry: Entry<C>): void {
    clearTimeout(entry.sleepTimer)
    entry.sleepTimer = undefined
    const { runner, plan, calls } = entry
    if (runner.state.status !== 'running' || plan.sleeps_after_s === null || calls > 0 || this.#closed) return
    entry.sleepTimer = setTimeout(() => {
      entry.sleepTimer = undefined
      if (entry.calls === 0) void runner.sleep()
    }, plan.sleeps_after_s * 1000)
  }

  /** After each call: cheaper than a new timer. There is none if it fired during the call. */
  #restartSleepTimer(entry: Entry<C>): void {
    if (entry.sleepTimer) entry.sleepTimer.refresh()
    else this.#setSleepTimer(entry)
  }

  #startSampling(): NodeJS.Timeout {
    let isSampling = false
    const sample = async () => {
      const running: Sampled[] = []
      for (const [id, { runner, used }] of this.#entries) {
        const { state } = runner
        if (state.status === 'running')
          running.push({ id, leader: state.pid, calls: used, usage: () => runner.usage() })
      }
      if (running.length === 0) {
        clearInterval(this.#sampling)
        this.#sampling = undefined
      }
      for (const [id, resources] of await this.#sampler.sample(running, this.#deps.isWatched())) {
        const entry = this.#entries.get(id)
        if (entry?.runner.state.status !== 'running') continue // it has ended meanwhile
        entry.resources = resources
        if (resources) this.#deps.onResources(id, resources)
      }
    }
    return setInterval(() => {
      if (isSampling) return // the system is slow to answer
      isSampling = true
      void sample().finally(() => {
        isSampling = false
      })
    }, SAMPLE_EVERY_MS).unref()
  }
}

/** Why processes are ended that no user has stopped. */
const TRIED = 'it was only tried'
const UNNEEDED = 'no longer needed'
const ENDING = 'Toolroom stops'

const NO_LIFE = {
  state: { status: 'stopped' },
  restartCount: 0,
  lastExit: null,
  recentExits: [],
  lastError: null,
  resources: null,
  uptimeMs: null,
  client: undefined,
} as const

const SHUTTING_DOWN = { code: 'shutting_down', message: 'Toolroom is shutting down', hint: null }
const REMOVED = { code: 'removed', message: 'The server was deleted', hint: null }
