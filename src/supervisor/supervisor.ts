import { setTimeout as sleep } from 'node:timers/promises'
import type { Life, Plan, Resources, ServerState, StartOutcome } from '../kernel/server-state.ts'
import { CallFailure } from '../protocol/call.ts'
import { type Conversation, launch, type OnLine, type Streams } from './launcher.ts'
import type { Reaper } from './process/reaper.ts'
import { ResourceSampler } from './process/resources.ts'
import { sweep } from './process/signals.ts'
import { type Graces, gracesWithin } from './process/stop-ladder.ts'
import { Runner } from './runner.ts'
import type { StartSlots } from './start-slots.ts'

export interface Deps<C extends Conversation> {
  readonly converse: (id: string, plan: Plan, streams: Streams) => C
  /** `NAME=value`; each server adds its id to it. */
  readonly mark: string
  readonly reaper: Pick<Reaper, 'watch' | 'forget'>
  readonly slots: StartSlots
  readonly clean: (text: string) => string
  readonly onState: (id: string, state: ServerState, cause: string) => void
  readonly onLine: (id: string, ...line: Parameters<OnLine>) => void
  readonly onResources: (id: string, resources: Resources) => void
}

interface Entry<C> {
  readonly runner: Runner
  plan: Plan
  conversation: C | undefined
  resources: Resources | null
  /** Calls that are under way: nobody falls asleep during one. */
  busy: number
  bedtime: NodeJS.Timeout | undefined
}

const SAMPLE_EVERY_MS = 2000
/** At the end of the service nobody may take longer, whatever its own `stop_s`. */
const CLOSE_WITHIN_S = 5

/** Who should run. One runner per server that was registered. */
export class Supervisor<C extends Conversation> {
  readonly #deps: Deps<C>
  readonly #entries = new Map<string, Entry<C>>()
  readonly #sampler = new ResourceSampler(() => performance.now())
  #sampling: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: Deps<C>) {
    this.#deps = deps
  }

  /** A new server, or a new plan for a known one: what runs goes on, and the next start takes it. */
  register(id: string, plan: Plan): void {
    const known = this.#entries.get(id)
    if (known) {
      known.plan = plan
      this.#setBedtime(known)
    } else this.#entries.set(id, this.#newEntry(id, plan))
  }

  /** Settles when it runs, or when the attempt that this call waits for has failed. */
  start(id: string): Promise<StartOutcome> {
    if (this.#closed) return Promise.resolve({ ok: false, error: SHUTTING_DOWN })
    const runner = this.#entries.get(id)?.runner
    return runner ? runner.start() : Promise.resolve({ ok: false, error: REMOVED })
  }

  /** Settles when nothing of it is left. */
  async stop(id: string): Promise<void> {
    await this.#entries.get(id)?.runner.stop()
  }

  async sleep(id: string): Promise<void> {
    await this.#entries.get(id)?.runner.sleep()
  }

  /**
   * For a call: wakes one that sleeps or falls asleep, and waits for one that starts or will be tried again, at its
   * own time. Starts nobody against a person's will.
   */
  wake(id: string): Promise<StartOutcome> {
    const runner = this.#entries.get(id)?.runner
    if (!runner) return Promise.resolve({ ok: false, error: REMOVED })
    return runner.sleeps ? this.start(id) : runner.joined()
  }

  /** What runs ends, and then it starts. */
  restart(id: string): Promise<StartOutcome> {
    void this.stop(id)
    return this.start(id)
  }

  life(id: string): Life<C> {
    const entry = this.#entries.get(id)
    if (!entry) return NO_LIFE
    const { state, restartCount, lastExit, lastError, uptimeMs } = entry.runner
    const running = state.status === 'running'
    return {
      state,
      restartCount,
      lastExit,
      lastError,
      uptimeMs,
      resources: running ? entry.resources : null,
      conversation: entry.runner.stays ? entry.conversation : undefined,
    }
  }

  /** Talks to a server that runs and keeps it awake meanwhile. */
  async using<R>(id: string, talk: (conversation: C) => Promise<R>): Promise<R> {
    const entry = this.#entries.get(id)
    if (entry?.conversation === undefined || entry.runner.state.status !== 'running')
      throw new CallFailure('closed', 'It does not run')
    entry.busy += 1
    clearTimeout(entry.bedtime)
    try {
      return await talk(entry.conversation)
    } finally {
      entry.busy -= 1
      this.#setBedtime(entry)
    }
  }

  /** Stops it and forgets everything about it. */
  async remove(id: string): Promise<void> {
    await this.stop(id)
    clearTimeout(this.#entries.get(id)?.bedtime)
    this.#entries.delete(id)
  }

  /** Everything down, all at once. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sampling)
    for (const { bedtime } of this.#entries.values()) clearTimeout(bedtime)
    const down = Promise.all([...this.#entries.values()].map(({ runner }) => runner.stop()))
    const late = new AbortController()
    const impatient = sleep((CLOSE_WITHIN_S + 1) * 1000, undefined, { signal: late.signal }).then(
      () => sweep(this.#deps.mark), // one that was already stopping, with a longer patience
      () => {},
    )
    await down
    late.abort()
    await impatient
  }

  #newEntry(id: string, plan: Plan): Entry<C> {
    const { slots, reaper, clean, onLine } = this.#deps
    const runner = new Runner({
      rules: () => entry.plan.restart,
      slots,
      onState: (state, cause) => this.#onState(id, entry, state, cause),
      now: Date.now,
      random: Math.random,
      launch: () =>
        launch({
          definition: entry.plan,
          mark: `${this.#deps.mark}/${id}/`, // closed, or the mark of `a` would be the beginning of that of `ab`
          graces: () => this.#gracesOf(entry),
          reaper,
          clean,
          onLine: (...line) => onLine(id, ...line),
          converse: (streams) => {
            entry.conversation = this.#deps.converse(id, entry.plan, streams)
            return entry.conversation
          },
        }),
    })
    const entry: Entry<C> = {
      runner,
      plan,
      conversation: undefined,
      resources: null,
      busy: 0,
      bedtime: undefined,
    }
    return entry
  }

  #gracesOf({ plan }: Entry<C>): Graces {
    const { stop_s } = plan.timeouts
    return gracesWithin(this.#closed ? Math.min(stop_s, CLOSE_WITHIN_S) : stop_s)
  }

  #onState(id: string, entry: Entry<C>, state: ServerState, cause: string): void {
    entry.resources = null
    if (state.status === 'running') this.#sampling ??= this.#sampleRegularly()
    this.#setBedtime(entry)
    this.#deps.onState(id, state, cause)
  }

  #setBedtime(entry: Entry<C>): void {
    clearTimeout(entry.bedtime)
    const { runner, plan, busy } = entry
    if (runner.state.status !== 'running' || plan.sleeps_after_s === null || busy > 0 || this.#closed) return
    entry.bedtime = setTimeout(() => void runner.sleep(), plan.sleeps_after_s * 1000)
  }

  #sampleRegularly(): NodeJS.Timeout {
    const sample = () => {
      const leaders = new Map<string, number>()
      for (const [id, { runner }] of this.#entries)
        if (runner.state.status === 'running') leaders.set(id, runner.state.pid)
      for (const [id, resources] of this.#sampler.sample(leaders)) {
        const entry = this.#entries.get(id)
        if (entry) entry.resources = resources
        this.#deps.onResources(id, resources)
      }
      if (leaders.size > 0) return
      clearInterval(this.#sampling)
      this.#sampling = undefined
    }
    return setInterval(sample, SAMPLE_EVERY_MS).unref()
  }
}

const NO_LIFE = {
  state: { status: 'stopped' },
  restartCount: 0,
  lastExit: null,
  lastError: null,
  resources: null,
  uptimeMs: null,
  conversation: undefined,
} as const

const SHUTTING_DOWN = { code: 'shutting_down', message: 'Toolroom is about to end', hint: null }
const REMOVED = { code: 'removed', message: 'It was deleted', hint: null }
