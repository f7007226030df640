import { setTimeout as sleep } from 'node:timers/promises'
import type {
  LastError,
  LastExit,
  RestartRules,
  ServerState,
  StartOutcome,
  StopStep,
} from '../kernel/server-state.ts'
import type { Exit } from './process/child.ts'
import { StartFailure } from './process/start-child.ts'
import { type ProcessEnd, restartAfter } from './restart-policy.ts'
import type { StartSlots } from './start-slots.ts'

/** A process that was started, not yet known to be a tool server. */
export interface Launched {
  readonly pid: number
  readonly ended: Promise<Exit>
  /** Settles when it can no longer be talked to, though it may live on. */
  readonly lost: Promise<unknown>
  /** Handshake and tools. Rejects with a StartFailure. */
  ready(): Promise<void>
  /** The last lines that it wrote for people. */
  readonly tail: readonly string[]
  /** Why it ended, in words. */
  explain(exit: Exit, wasRunning: boolean): LastError
  /** Ends it and everything it started, however much of it is left. */
  stop(onStep: (step: StopStep) => void): Promise<unknown>
}

export interface RunnerDeps {
  readonly rules: () => RestartRules
  /** Rejects with a StartFailure. */
  readonly launch: () => Promise<Launched>
  readonly slots: StartSlots
  readonly onState: (state: ServerState, cause: string) => void
  readonly now: () => number
  readonly random: () => number
}

type Ending =
  | { readonly kind: 'asked' }
  | { readonly kind: 'failed'; readonly error: LastError }
  | { readonly kind: 'ended'; readonly error: LastError; readonly end: ProcessEnd; readonly ranMs: number }

/** Where it is to be: at work, down, or asleep until it is called. */
type Wish = 'run' | 'stop' | 'sleep'

const CAUSES = { stop: 'stopped by a person', sleep: 'nobody called it for a while' } as const

const STOPPED_WHILE_STARTING: LastError = {
  code: 'stopped',
  message: 'It was stopped while it started',
  hint: null,
}

/**
 * The life of one tool server. One loop starts, watches and restarts it, so there are never two processes of one server;
 * `start` and `stop` say what is wished and wait for it. A wish to stop wins over everything but a later wish to start.
 */
export class Runner {
  readonly #deps: RunnerDeps
  readonly #starting: ((outcome: StartOutcome) => void)[] = []
  /** Who waits for the next start without wishing for one: nobody tries earlier for their sake. */
  readonly #joining: ((outcome: StartOutcome) => void)[] = []
  readonly #stopping: (() => void)[] = []
  readonly #startsAt: number[] = []
  #state: ServerState = { status: 'stopped' }
  #wish: Wish = 'stop'
  #living = false
  /** Aborted by a wish to stop; made anew for every attempt. */
  #attempt = new AbortController()
  /** Aborted by a wish to start that does not want to wait for the next try. */
  #pause = new AbortController()
  #runningSince = 0
  /** From its handshake until it has ended or closed its output, which is before anybody knows what follows. */
  #running: Launched | undefined
  restartCount = 0
  lastExit: LastExit | null = null
  /** Why it does not run, though somebody wished it to; null while all is well. */
  lastError: LastError | null = null

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  get state(): ServerState {
    return this.#state
  }

  /** Of the monotonic clock: the other one may be set meanwhile. */
  get uptimeMs(): number | null {
    return this.#state.status === 'running' ? performance.now() - this.#runningSince : null
  }

  /** Settles when it runs, or when the attempt that this call waits for has failed. */
  start(): Promise<StartOutcome> {
    this.#wish = 'run'
    const runs = this.#state.status === 'running' && !this.#attempt.signal.aborted
    if (runs) return Promise.resolve({ ok: true })
    const outcome = new Promise<StartOutcome>((resolve) => this.#starting.push(resolve))
    this.#pause.abort()
    if (!this.#living) {
      this.restartCount = 0
      void this.#live()
    }
    return outcome
  }

  /** It can be talked to. A process that has just fallen cannot, though its state still says that it runs. */
  get stays(): boolean {
    return this.#running !== undefined && !this.#attempt.signal.aborted
  }

  /** It sleeps, or is about to. */
  get sleeps(): boolean {
    return this.#wish === 'sleep'
  }

  /** The outcome of the start that is under way or comes next, without wishing for one. */
  joined(): Promise<StartOutcome> {
    if (this.stays) return Promise.resolve({ ok: true })
    if (this.#living && this.#wish === 'run') return new Promise((resolve) => this.#joining.push(resolve))
    return Promise.resolve({ ok: false, error: this.lastError ?? STOPPED_WHILE_STARTING })
  }

  /** Settles when nothing of it is left. A wish to stop, whatever runs. */
  stop(): Promise<void> {
    return this.#end('stop')
  }

  /** As `stop`, but a call will wake it. */
  sleep(): Promise<void> {
    return this.#end('sleep')
  }

  #end(wish: 'stop' | 'sleep'): Promise<void> {
    this.#wish = wish
    if (!this.#living) {
      this.#lieDown(wish)
      return Promise.resolve()
    }
    const stopped = new Promise<void>((resolve) => this.#stopping.push(resolve))
    this.#attempt.abort()
    this.#pause.abort()
    return stopped
  }

  #lieDown(wish: 'stop' | 'sleep'): void {
    this.lastError = null
    if (this.#state.status === (wish === 'stop' ? 'stopped' : 'idle')) return
    if (wish === 'stop') this.#become({ status: 'stopped' }, CAUSES.stop)
    else {
      const cause = this.#state.status === 'stopped' ? 'it starts when it is called' : CAUSES.sleep
      this.#become({ status: 'idle', since: this.#deps.now() }, cause)
    }
  }

  async #live(): Promise<void> {
    this.#living = true
    let failures = 0
    for (let goesOn = true; goesOn; ) {
      this.#attempt = new AbortController()
      const ending = await this.#once(failures).catch(endingOf)
      const rest = this.#settle(ending, failures)
      if (rest === undefined) goesOn = this.#rest()
      else {
        await this.#wait(rest.delayMs)
        failures = this.#starting.length > 0 ? 0 : rest.attempt // a person begins anew
        goesOn = this.#wish === 'run' || this.#rest()
        if (goesOn) this.restartCount += 1
      }
    }
  }

  /** Nothing runs. True when somebody has asked for a start meanwhile. */
  #rest(): boolean {
    const again = this.#wish === 'run' && this.#starting.length > 0
    if (this.#wish !== 'run') this.#lieDown(this.#wish)
    if (!again) this.#answer({ ok: false, error: this.lastError ?? STOPPED_WHILE_STARTING })
    for (const resolve of this.#stopping.splice(0)) resolve()
    this.#living = again
    return again
  }

  /** What follows from an ending: undefined when it is the end, otherwise how long to wait before the next start. */
  #settle(ending: Ending, failures: number): { delayMs: number; attempt: number } | undefined {
    if (ending.kind === 'asked') {
      if (this.#wish !== 'run') this.#answer({ ok: false, error: STOPPED_WHILE_STARTING })
      return undefined
    }
    const { error } = ending
    this.lastError = error
    const restart = ending.kind === 'ended' ? this.#restartAfter(ending, failures) : undefined
    if (this.#wish === 'run') {
      if (ending.kind === 'failed') this.#become({ status: 'failed', error }, error.message)
      else if (restart?.kind === 'retry') {
        const next_retry_at = this.#deps.now() + restart.delayMs
        this.#become({ status: 'backoff', attempt: restart.attempt, next_retry_at, error }, error.message)
      } else this.#become({ status: 'stopped' }, error.message)
    }
    const next = restart?.kind === 'retry' ? restart : undefined
    const fell = ending.kind === 'ended' && ending.ranMs > 0
    // Who joined a start hears how that went; who came after a fall waits for the next start.
    if (next && fell) answer(this.#starting, { ok: false, error })
    else this.#answer({ ok: false, error })
    return next
  }

  #restartAfter({ end, ranMs }: Extract<Ending, { kind: 'ended' }>, failures: number) {
    const now = performance.now()
    const startsMsAgo = this.#startsAt.slice(-6).map((at) => now - at)
    const facts = { end, ranMs, failuresInRow: failures, startsMsAgo, random: this.#deps.random() }
    return restartAfter(this.#deps.rules(), facts)
  }

  /** One process, from its start to the end of everything it started. */
  async #once(failures: number): Promise<Ending> {
    const { signal } = this.#attempt
    this.#become({ status: 'starting', attempt: failures + 1 }, failures === 0 ? 'start' : 'restart')
    const release = await this.#deps.slots.acquire(signal)
    if (!release) return { kind: 'asked' }
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
    const asked = new Promise<'asked'>((resolve) => {
      if (signal.aborted) resolve('asked')
      else signal.addEventListener('abort', () => resolve('asked'), { once: true })
    })
    const ended = launched.ended.then((exit) => ({ exit }))
    let wasRunning = false
    const ready = launched.ready().then(
      () => 'ready' as const,
      (error: unknown) => orExit(launched, { error }),
    )
    let outcome = await Promise.race([asked, ended, ready])
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
        asked,
        ended,
        launched.lost.then(() => orExit(launched, 'ready' as const)),
      ])
    }
    const ranMs = wasRunning ? performance.now() - this.#runningSince : 0
    await launched.stop((step) => {
      const cause = this.#wish === 'run' ? 'restarted by a person' : CAUSES[this.#wish]
      if (outcome === 'asked') this.#become({ status: 'stopping', step }, cause)
    })
    const exit = await launched.ended
    this.lastExit = { ...exit, at: this.#deps.now(), stderr_tail: launched.tail }
    if (outcome === 'asked') return { kind: 'asked' }
    if (typeof outcome === 'object' && 'error' in outcome) return endingOf(outcome.error)
    const error = launched.explain(exit, wasRunning)
    return { kind: 'ended', error, end: outcome === 'ready' ? { kind: 'pipe_closed' } : endOf(exit), ranMs }
  }

  async #wait(ms: number): Promise<void> {
    this.#pause = new AbortController()
    if (this.#wish !== 'run' || this.#starting.length > 0) return
    await sleep(ms, undefined, { signal: this.#pause.signal }).catch(() => {}) // cut short by a wish
  }

  #answer(outcome: StartOutcome): void {
    answer(this.#starting, outcome)
    answer(this.#joining, outcome)
  }

  #become(state: ServerState, cause: string): void {
    this.#state = state
    this.#deps.onState(state, cause)
  }
}

function answer(waiting: ((outcome: StartOutcome) => void)[], outcome: StartOutcome): void {
  for (const resolve of waiting.splice(0)) resolve(outcome)
}

/** A process that ends closes its pipes first, so what looks like trouble may be its end a moment before. */
function orExit<T>({ ended }: Launched, trouble: T): Promise<T | { exit: Exit }> {
  return Promise.race([ended.then((exit) => ({ exit })), sleep(MOMENT_MS, trouble, { ref: false })])
}
const MOMENT_MS = 250

function endingOf(error: unknown): Ending {
  if (!(error instanceof StartFailure)) {
    const message = `Toolroom failed to start it: ${error instanceof Error ? error.message : String(error)}`
    return {
      kind: 'failed',
      error: { code: 'internal_error', message, hint: 'Look into the log, then start it again' },
    }
  }
  if (!error.retry) return { kind: 'failed', error: error.error }
  return { kind: 'ended', error: error.error, end: { kind: 'never_ready' }, ranMs: 0 }
}

const endOf = ({ code, signal }: Exit): ProcessEnd =>
  signal === null ? { kind: 'exit', code: code ?? 0 } : { kind: 'signal', signal }
