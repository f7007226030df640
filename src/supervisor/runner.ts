import { setTimeout as sleep } from 'node:timers/promises'
import type { RestartRules } from '../kernel/server-plan.ts'
import {
  type LastError,
  type PastExit,
  RECENT_EXITS,
  type ServerState,
  type StartOutcome,
  type StopStep,
} from '../kernel/server-state.ts'
import { systemTimeOf } from '../kernel/time.ts'
import type { Exit, ProcessUsage } from './platform/platform.ts'
import { type Ending, endingOf, endOf, isCleanExit, isPermanent, restartAfter } from './restart-policy.ts'
import type { StartSlots } from './start-slots.ts'
import { StartWaiters } from './start-waiters.ts'

/** A process that was started. It may or may not become a running tool server. */
export interface Launched {
  /** Null in a container. */
  readonly pid: number | null
  readonly ended: Promise<Exit>
  /** Settles when its MCP connection is closed, even if the process is still running. */
  readonly lost: Promise<unknown>
  /** Resolves after the handshake and the tool list. Rejects with a StartFailure. */
  ready(): Promise<void>
  /** The last lines of stderr. */
  readonly tail: readonly string[]
  explain(exit: Exit, wasRunning: boolean): LastError
  /** What the process and all its descendants use; undefined if the system does not tell. */
  usage(): Promise<readonly ProcessUsage[] | undefined>
  /** Ends the process, if it is still running, and all its children. */
  stop(onStep: (step: StopStep) => void): Promise<unknown>
}

export interface RunnerDeps {
  readonly rules: () => RestartRules
  /** Whether a server that has ended and is not restarted is asleep: the next call starts it. */
  readonly sleeps: () => boolean
  /** Rejects with a StartFailure. */
  readonly launch: () => Promise<Launched>
  readonly slots: StartSlots
  readonly onState: (state: ServerState, cause: string) => void
  readonly now: () => number
  readonly random: () => number
}

type Goal = 'run' | 'stop' | 'sleep'

const STOPPED_WHILE_STARTING: LastError = {
  code: 'stopped',
  message: 'The server was stopped while it was starting',
  hint: null,
}

type Waiter = (outcome: StartOutcome) => void

/**
 * Runs one tool server. One loop starts, watches and restarts it, so there are never two processes of one server. `start`
 * and `stop` set the goal and wait until it is reached. Only a later start overrides a stop.
 */
export class Runner {
  readonly #deps: RunnerDeps
  readonly #starting: Waiter[] = []
  /** Waiting for the next start without hastening it. */
  readonly #joining = new StartWaiters()
  readonly #stopping: (() => void)[] = []
  readonly #startsAt: number[] = []
  #state: ServerState = { status: 'stopped' }
  #goal: Goal = 'stop'
  /** Why it is stopped or put to sleep. */
  #why = ''
  #isLooping = false
  /** Aborted by a stop. Every attempt has a new one. */
  #attempt = new AbortController()
  /** Aborted by a start during the wait for the next attempt. */
  #pause = new AbortController()
  #runningSince = 0
  /** When the next attempt begins, on the monotonic clock. */
  #retryAt = 0
  /** Set from the handshake until the process has ended or closed its output, which is before the status changes. */
  #running: Launched | undefined
  restartCount = 0
  /** Newest first. Replaced with every exit. */
  recentExits: readonly PastExit[] = []
  /** Why it is not running although it was started; null otherwise. */
  lastError: LastError | null = null

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  get state(): ServerState {
    const state = this.#state
    if (state.status !== 'backoff') return state
    const next_retry_at = systemTimeOf(this.#retryAt, state.next_retry_at, this.#deps.now())
    if (next_retry_at !== state.next_retry_at) this.#state = { ...state, next_retry_at }
    return this.#state
  }

  /** From the monotonic clock, because the system time may be changed. */
  get uptimeMs(): number | null {
    return this.#state.status === 'running' ? performance.now() - this.#runningSince : null
  }

  /** Resolves when it is running, or when the attempt has failed. */
  start(): Promise<StartOutcome> {
    this.#goal = 'run'
    if (this.isConnected) return Promise.resolve({ ok: true })
    const outcome = new Promise<StartOutcome>((resolve) => this.#starting.push(resolve))
    this.#pause.abort()
    if (!this.#isLooping) {
      this.restartCount = 0
      void this.#loop()
    }
    return outcome
  }

  /** Its connection is open. False for a process that has just ended, even while its status is still `running`. */
  get isConnected(): boolean {
    return this.#running !== undefined && !this.#attempt.signal.aborted
  }

  /** CPU time and memory of the running process and its children. */
  async usage(): Promise<readonly ProcessUsage[] | undefined> {
    return this.#running?.usage()
  }

  /** It was started, and neither stopped nor put to sleep since. */
  get isWanted(): boolean {
    return this.#goal === 'run'
  }

  /** Asleep, or about to be. */
  get isAsleep(): boolean {
    return this.#goal === 'sleep' || this.#state.status === 'idle'
  }

  /** The outcome of the current or next attempt. Does not start one. Fails at once if the next one begins too late. */
  join(withinMs = Number.POSITIVE_INFINITY): Promise<StartOutcome> {
    if (this.isConnected) return Promise.resolve({ ok: true })
    if (!this.#isLooping || this.#goal !== 'run')
      return Promise.resolve({ ok: false, error: this.lastError ?? STOPPED_WHILE_STARTING })
    const outcome = this.#joining.add(withinMs)
    if (this.#state.status === 'backoff') this.#joining.answerEarly(this.#retryAt, this.#state.error)
    return outcome
  }

  /** Resolves when the process and its children have ended. */
  stop(why = 'stopped by a user'): Promise<void> {
    return this.#end('stop', why)
  }

  /** Like `stop`, but a call starts it again. */
  sleep(why = 'no calls for a while'): Promise<void> {
    return this.#end('sleep', why)
  }

  #end(goal: 'stop' | 'sleep', why: string): Promise<void> {
    this.#goal = goal
    this.#why = why
    if (!this.#isLooping) {
      this.#becomeIdle(goal)
      return Promise.resolve()
    }
    const stopped = new Promise<void>((resolve) => this.#stopping.push(resolve))
    this.#attempt.abort()
    this.#pause.abort()
    return stopped
  }

  #becomeIdle(goal: 'stop' | 'sleep'): void {
    this.lastError = null
    if (this.#state.status === (goal === 'stop' ? 'stopped' : 'idle')) return
    if (goal === 'stop') this.#become({ status: 'stopped' }, this.#why)
    else {
      const cause = this.#state.status === 'stopped' ? 'starts on demand' : this.#why
      this.#become({ status: 'idle', since: this.#deps.now() }, cause)
    }
  }

  async #loop(): Promise<void> {
    this.#isLooping = true
    let failures = 0
    for (let isContinued = true; isContinued; ) {
      this.#attempt = new AbortController()
      const ending = await this.#runOnce(failures).catch(endingOf)
      // It may have ended by itself, and was stopped before its end was complete.
      const wasStopped = this.#attempt.signal.aborted
      const retry = this.#onEnding(wasStopped ? { kind: 'requested' } : ending, failures)
      if (retry === undefined) isContinued = this.#onStopped()
      else {
        await this.#wait(retry.delayMs)
        failures = this.#starting.length > 0 ? 0 : retry.attempt // a start by a user resets the count
        isContinued = this.#goal === 'run' || this.#onStopped()
        if (isContinued) this.restartCount += 1
      }
    }
  }

  /** No process is running. True if a start was requested in the meantime. */
  #onStopped(): boolean {
    const isRestarted = this.#goal === 'run' && this.#starting.length > 0
    if (this.#goal !== 'run') this.#becomeIdle(this.#goal)
    if (!isRestarted) this.#answer({ ok: false, error: this.lastError ?? STOPPED_WHILE_STARTING })
    for (const resolve of this.#stopping.splice(0)) resolve()
    this.#isLooping = isRestarted
    return isRestarted
  }

  /** The delay before the next attempt; undefined if there is none. */
  #onEnding(ending: Ending, failures: number): { delayMs: number; attempt: number } | undefined {
    if (ending.kind === 'requested') {
      if (this.#goal !== 'run') this.#answer({ ok: false, error: STOPPED_WHILE_STARTING })
      return undefined
    }
    const { error } = ending
    this.lastError = error
    const restart = ending.kind === 'ended' ? this.#restartAfter(ending, failures) : undefined
    if (this.#goal === 'run') {
      if (ending.kind === 'failed') this.#become({ status: 'failed', error }, error.message)
      else if (restart?.kind === 'retry') {
        this.#retryAt = performance.now() + restart.delayMs
        const next_retry_at = this.#deps.now() + restart.delayMs
        this.#become({ status: 'backoff', attempt: restart.attempt, next_retry_at, error }, error.message)
      } else this.#rest(ending, error)
    }
    const next = restart?.kind === 'retry' ? restart : undefined
    const wasRunning = ending.kind === 'ended' && ending.ranMs > 0
    // A failed start answers all requests that wait for it. After the end of a running server, they wait for the next
    // start. A start that was requested after the process had ended follows at once, so nothing is answered before it.
    if (!wasRunning) this.#answer({ ok: false, error })
    else if (next) this.#joining.answerEarly(this.#retryAt, error)
    else if (this.#starting.length === 0) this.#joining.answer({ ok: false, error })
    return next
  }

  /** It has ended and is not restarted. */
  #rest(ending: Ending, { message }: LastError): void {
    const sleeps = this.#deps.sleeps()
    if (sleeps && isCleanExit(ending)) this.lastError = null
    this.#become(sleeps ? { status: 'idle', since: this.#deps.now() } : { status: 'stopped' }, message)
  }

  #restartAfter({ end, ranMs }: Extract<Ending, { kind: 'ended' }>, failures: number) {
    const now = performance.now()
    const startsMsAgo = this.#startsAt.slice(-6).map((at) => now - at)
    const facts = { end, ranMs, failuresInRow: failures, startsMsAgo, random: this.#deps.random() }
    return restartAfter(this.#deps.rules(), facts)
  }

  /** One process, from its start to the end of all its children. */
  async #runOnce(failures: number): Promise<Ending> {
    const { signal } = this.#attempt
    this.#become({ status: 'starting', attempt: failures + 1 }, failures === 0 ? 'start' : 'restart')
    const release = await this.#deps.slots.acquire(signal)
    if (!release) return { kind: 'requested' }
    this.#startsAt.push(performance.now())
    if (this.#startsAt.length > 6) this.#startsAt.shift()
    let launched: Launched
    try {
      launched = await this.#deps.launch()
    } catch (error) {
      release()
      return endingOf(error)
    }
    try {
      return await this.#watch(launched, signal, release)
    } finally {
      release()
    }
  }

  async #watch(launched: Launched, signal: AbortSignal, release: () => void): Promise<Ending> {
    const requested = new Promise<'requested'>((resolve) => {
      if (signal.aborted) resolve('requested')
      else signal.addEventListener('abort', () => resolve('requested'), { once: true })
    })
    const startedAt = performance.now()
    const exited = launched.ended.then((exit) => ({ exit }))
    let wasRunning = false
    const ready = launched.ready().then(
      () => 'ready' as const,
      (error: unknown) => orExit(launched, { error }),
    )
    let outcome = await Promise.race([requested, exited, ready])
    if (outcome === 'ready') {
      release()
      wasRunning = true
      this.#runningSince = performance.now()
      this.#running = launched
      void Promise.race([launched.ended, launched.lost]).then(() => {
        this.#running = undefined
      })
      this.lastError = null
      this.#become({ status: 'running', pid: launched.pid, started_at: this.#deps.now() }, 'handshake done')
      this.#answer({ ok: true })
      outcome = await Promise.race([
        requested,
        exited,
        launched.lost.then(() => orExit(launched, 'ready' as const)),
      ])
    }
    const ranMs = wasRunning ? performance.now() - this.#runningSince : 0
    await launched.stop((step) => {
      const cause = this.#goal === 'run' ? 'restarted by a user' : this.#why
      if (outcome === 'requested') this.#become({ status: 'stopping', step }, cause)
    })
    const exit = await launched.ended
    const ended = {
      ...exit,
      at: this.#deps.now(),
      stderr_tail: launched.tail,
      ranMs: performance.now() - startedAt,
    }
    this.recentExits = [ended, ...this.recentExits].slice(0, RECENT_EXITS)
    if (outcome === 'requested') return { kind: 'requested' }
    if (typeof outcome === 'object' && 'error' in outcome) return endingOf(outcome.error)
    const error = launched.explain(exit, wasRunning)
    if (!wasRunning && isPermanent(error)) return { kind: 'failed', error }
    return { kind: 'ended', error, end: outcome === 'ready' ? { kind: 'pipe_closed' } : endOf(exit), ranMs }
  }

  async #wait(ms: number): Promise<void> {
    this.#pause = new AbortController()
    if (this.#goal !== 'run' || this.#starting.length > 0) return
    await sleep(ms, undefined, { signal: this.#pause.signal }).catch(() => {}) // a start or a stop
  }

  #answer(outcome: StartOutcome): void {
    answer(this.#starting, outcome)
    this.#joining.answer(outcome)
  }

  #become(state: ServerState, cause: string): void {
    this.#state = state
    this.#deps.onState(state, cause)
  }
}

function answer(waiting: Waiter[], outcome: StartOutcome): void {
  for (const resolve of waiting.splice(0)) resolve(outcome)
}

/** A process closes its pipes before it exits, so an error may only be the first sign of its exit. */
function orExit<T>({ ended }: Launched, otherwise: T): Promise<T | { exit: Exit }> {
  return Promise.race([ended.then((exit) => ({ exit })), sleep(EXIT_WITHIN_MS, otherwise, { ref: false })])
}
/** On a busy machine the exit is reported long after the pipes are closed. */
const EXIT_WITHIN_MS = 2000
