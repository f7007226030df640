import { setTimeout as sleep } from 'node:timers/promises'
import type { LastError, ServerState } from '../kernel/server-state.ts'
import type { Exit } from './child.ts'
import { type ProcessEnd, type RestartRules, restartAfter } from './restart-policy.ts'
import type { StartSlots } from './start-slots.ts'
import type { StopStep } from './stop-ladder.ts'

/** A start that failed. With `retry: false` a person has to change something first. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly error: LastError
  readonly retry: boolean

  constructor(error: LastError, retry: boolean) {
    super(error.message)
    this.error = error
    this.retry = retry
  }
}

/** A process that was started, not yet known to be a tool server. */
export interface Launched {
  readonly pid: number
  readonly ended: Promise<Exit>
  /** Settles when it can no longer be talked to, though it may live on. */
  readonly lost: Promise<unknown>
  /** Handshake and tools. Rejects with a StartFailure. */
  ready(): Promise<void>
  /** Why it ended, in words. */
  explain(exit: Exit): LastError
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

export type StartOutcome = { readonly ok: true } | { readonly ok: false; readonly error: LastError }

type Ending =
  | { readonly kind: 'asked' }
  | { readonly kind: 'failed'; readonly error: LastError }
  | { readonly kind: 'ended'; readonly error: LastError; readonly end: ProcessEnd; readonly ranMs: number }

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
  readonly #stopping: (() => void)[] = []
  readonly #startsAt: number[] = []
  #state: ServerState = { status: 'stopped' }
  #wish: 'run' | 'stop' = 'stop'
  #living = false
  /** Aborted by a wish to stop; made anew for every attempt. */
  #attempt = new AbortController()
  /** Aborted by a wish to start that does not want to wait for the next try. */
  #pause = new AbortController()
  restartCount = 0
  lastExit: (Exit & { readonly at: number }) | null = null

  constructor(deps: RunnerDeps) {
    this.#deps = deps
  }

  get state(): ServerState {
    return this.#state
  }

  /** Settles when it runs, or when the attempt that this call waits for has failed. */
  start(): Promise<StartOutcome> {
    this.#wish = 'run'
    const stays = this.#state.status === 'running' && !this.#attempt.signal.aborted
    if (stays) return Promise.resolve({ ok: true })
    const outcome = new Promise<StartOutcome>((resolve) => this.#starting.push(resolve))
    this.#pause.abort()
    if (!this.#living) void this.#live()
    return outcome
  }

  /** Settles when nothing of it is left. */
  stop(): Promise<void> {
    this.#wish = 'stop'
    if (!this.#living) {
      if (this.#state.status !== 'stopped') this.#become({ status: 'stopped' }, 'stopped by a person')
      return Promise.resolve()
    }
    const stopped = new Promise<void>((resolve) => this.#stopping.push(resolve))
    this.#attempt.abort()
    this.#pause.abort()
    return stopped
  }

  async #live(): Promise<void> {
    this.#living = true
    let failures = 0
    for (let goesOn = true; goesOn; ) {
      this.#attempt = new AbortController()
      const ending = await this.#once(failures)
      const rest = this.#settle(ending, failures)
      if (rest === undefined) goesOn = this.#rest()
      else {
        failures = rest.attempt
        await this.#wait(rest.delayMs)
        goesOn = this.#wish === 'run' || this.#rest()
        if (goesOn) this.restartCount += 1
      }
    }
  }

  /** Nothing runs. True when somebody has asked for a start meanwhile. */
  #rest(): boolean {
    const again = this.#wish === 'run' && this.#starting.length > 0
    if (this.#wish === 'stop') this.#become({ status: 'stopped' }, 'stopped by a person')
    for (const resolve of this.#stopping.splice(0)) resolve()
    this.#living = again
    return again
  }

  /** What follows from an ending: undefined when it is the end, otherwise how long to wait before the next start. */
  #settle(ending: Ending, failures: number): { delayMs: number; attempt: number } | undefined {
    if (ending.kind === 'asked') {
      if (this.#wish === 'stop') this.#answer({ ok: false, error: STOPPED_WHILE_STARTING })
      return undefined
    }
    const { error } = ending
    const restart = ending.kind === 'ended' ? this.#restartAfter(ending, failures) : undefined
    if (this.#wish === 'run') {
      if (ending.kind === 'failed') this.#become({ status: 'failed', error }, error.message)
      else if (restart?.kind === 'retry') {
        const next_retry_at = this.#deps.now() + restart.delayMs
        this.#become({ status: 'backoff', attempt: restart.attempt, next_retry_at, error }, error.message)
      } else this.#become({ status: 'stopped' }, error.message)
    }
    this.#answer({ ok: false, error })
    return restart?.kind === 'retry' ? restart : undefined
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
    let runningSince: number | undefined
    const ready = launched.ready().then(
      () => 'ready' as const,
      (error: unknown) => orExit(launched, { error }),
    )
    let outcome = await Promise.race([asked, ended, ready])
    if (outcome === 'ready') {
      release()
      runningSince = performance.now()
      this.#become({ status: 'running', pid: launched.pid, started_at: this.#deps.now() }, 'handshake done')
      this.#answer({ ok: true })
      outcome = await Promise.race([
        asked,
        ended,
        launched.lost.then(() => orExit(launched, 'ready' as const)),
      ])
    }
    const ranMs = runningSince === undefined ? 0 : performance.now() - runningSince
    await launched.stop((step) => {
      if (outcome === 'asked') this.#become({ status: 'stopping', step }, 'stop by a person')
    })
    const exit = await launched.ended
    this.lastExit = { ...exit, at: this.#deps.now() }
    if (outcome === 'asked') return { kind: 'asked' }
    if (outcome === 'ready')
      return { kind: 'ended', error: launched.explain(exit), end: { kind: 'pipe_closed' }, ranMs }
    if ('error' in outcome) return endingOf(outcome.error)
    return { kind: 'ended', error: launched.explain(exit), end: endOf(exit), ranMs }
  }

  async #wait(ms: number): Promise<void> {
    this.#pause = new AbortController()
    if (this.#wish === 'stop' || this.#starting.length > 0) return
    await sleep(ms, undefined, { signal: this.#pause.signal }).catch(() => {}) // cut short by a wish
  }

  #answer(outcome: StartOutcome): void {
    for (const resolve of this.#starting.splice(0)) resolve(outcome)
  }

  #become(state: ServerState, cause: string): void {
    this.#state = state
    this.#deps.onState(state, cause)
  }
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
