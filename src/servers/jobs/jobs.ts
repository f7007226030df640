import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'

export type JobStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

/** One part of a job. */
export interface Phase {
  readonly name: string
  readonly started_at: number
  /** Null while it lasts. */
  readonly finished_at: number | null
  /** What is known in this phase: for `waiting`, what the user decides about. */
  readonly detail: Readonly<Record<string, unknown>> | null
}

/** The public view of a job. */
export interface Job {
  readonly id: string
  readonly kind: string
  /** For example the name of a package. */
  readonly subject: string
  readonly status: JobStatus
  readonly phase: string
  /** What it has announced so far, in order. */
  readonly phases: readonly Phase[]
  readonly created_at: number
  readonly started_at: number | null
  readonly finished_at: number | null
  /** The last lines of output. */
  readonly output: readonly string[]
  readonly error: AppError | null
  readonly result: unknown
}

/** Passed to the work function. */
export interface JobHandle {
  readonly signal: AbortSignal
  /** The same name again changes the detail only. */
  phase(name: string, detail?: Phase['detail']): void
  line(text: string): void
  /**
   * Enters the phase `waiting`, and resolves when the user lets the job go on. Other jobs run meanwhile. Rejects after
   * `timeoutMs`, and when the job is cancelled.
   */
  untilContinued(detail: Phase['detail'], timeoutMs: number): Promise<void>
}

interface Deps {
  readonly now: () => number
  /** The number of jobs that run at once. Further ones are queued. */
  readonly atOnce: number
  readonly onProgress: (job: Job, line: string | null) => void
}

interface Entry {
  job: Job
  readonly key: string
  readonly abort: AbortController
  readonly work: (handle: JobHandle) => Promise<unknown>
  readonly settle: { resolve: (value: unknown) => void; reject: (error: unknown) => void }
  readonly settled: Promise<unknown>
  /** Set while the job waits for the user. */
  resume: (() => void) | undefined
}

const WAITING = 'waiting'
const KEPT = 100
const OUTPUT_LINES = 200

/** Work that outlives its request. A second request for the same work joins the running job. */
export class Jobs {
  readonly #deps: Deps
  readonly #entries = new Map<string, Entry>()
  #running = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Requests with the same `key` are the same work. */
  run<T>(
    kind: string,
    subject: string,
    key: string,
    work: (handle: JobHandle) => Promise<T>,
  ): { id: string; settled: Promise<T> } {
    const under = [...this.#entries.values()].find((entry) => entry.key === key && isOpen(entry.job))
    const entry = under ?? this.#add(kind, subject, key, work)
    return { id: entry.job.id, settled: entry.settled as Promise<T> }
  }

  list(): Job[] {
    return [...this.#entries.values()].map(({ job }) => job).reverse()
  }

  get(id: string): Job {
    return this.#entry(id).job
  }

  /** Resolves when the work has ended. A finished job stays as it is. */
  async cancel(id: string): Promise<Job> {
    const entry = this.#entry(id)
    if (isOpen(entry.job)) {
      entry.abort.abort()
      if (entry.job.status === 'queued') this.#finish(entry, 'cancelled', { error: cancelled(entry.job) })
      await entry.settled.catch(() => {})
    }
    return this.get(id)
  }

  /** Lets a job go on that waits for it. */
  continue(id: string): Job {
    const entry = this.#entry(id)
    const { resume, job } = entry
    if (!resume)
      throw new AppError(
        'job_not_waiting',
        `The job for ${job.subject} does not wait. Its phase is: ${job.phase}`,
      )
    entry.resume = undefined
    this.#enter(entry, 'continuing', null)
    resume()
    return this.get(id)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((id) => this.cancel(id)))
  }

  #add(kind: string, subject: string, key: string, work: Entry['work']): Entry {
    const id = `job_${randomBytes(6).toString('hex')}`
    const job: Job = {
      id,
      kind,
      subject,
      status: 'queued',
      phase: 'queued',
      phases: [],
      created_at: this.#deps.now(),
      started_at: null,
      finished_at: null,
      output: [],
      error: null,
      result: null,
    }
    const { promise: settled, ...settle } = withResolvers()
    settled.catch(() => {}) // handled by the caller of `run`, and kept in the job
    const abort = new AbortController()
    const entry: Entry = { job, key, abort, work, settle, settled, resume: undefined }
    this.#entries.set(id, entry)
    this.#forgetOldest()
    this.#next()
    return entry
  }

  #next(): void {
    const waiting = [...this.#entries.values()].find(({ job }) => job.status === 'queued')
    if (!waiting || this.#running >= this.#deps.atOnce) return
    this.#running += 1
    this.#change(waiting, { status: 'running', phase: 'starting', started_at: this.#deps.now() })
    void this.#work(waiting).finally(() => {
      this.#running -= 1
      this.#next()
    })
    this.#next()
  }

  async #work(entry: Entry): Promise<void> {
    const handle: JobHandle = {
      signal: entry.abort.signal,
      phase: (name, detail = null) => this.#enter(entry, name, detail),
      untilContinued: (detail, timeoutMs) => this.#wait(entry, detail, timeoutMs),
      line: (text) => this.#change(entry, { output: [...entry.job.output, text].slice(-OUTPUT_LINES) }, text),
    }
    try {
      this.#finish(entry, 'done', { result: await entry.work(handle) })
    } catch (error) {
      if (entry.abort.signal.aborted) this.#finish(entry, 'cancelled', { error: cancelled(entry.job) })
      else if (error instanceof AppError && error.code === 'job_cancelled')
        this.#finish(entry, 'cancelled', { error })
      else this.#finish(entry, 'failed', { error: asAppError(error) }, error)
    }
  }

  #enter(entry: Entry, name: string, detail: Phase['detail']): void {
    const { phases } = entry.job
    const last = phases.at(-1)
    const phase = { name, started_at: this.#deps.now(), finished_at: null, detail }
    const next =
      last?.name === name && last.finished_at === null
        ? [...phases.slice(0, -1), { ...last, detail }]
        : [...this.#endedPhases(entry), phase]
    this.#change(entry, { phase: name, phases: next })
  }

  /** The phases, the last of which ends now. */
  #endedPhases({ job }: Entry): Phase[] {
    const finished_at = this.#deps.now()
    return job.phases.map((phase) => (phase.finished_at === null ? { ...phase, finished_at } : phase))
  }

  async #wait(entry: Entry, detail: Phase['detail'], timeoutMs: number): Promise<void> {
    const { signal } = entry.abort
    const { promise, resolve, reject } = withResolvers()
    const onAbort = () => reject(signal.reason)
    const late = setTimeout(() => reject(notContinued(entry.job, timeoutMs)), timeoutMs)
    signal.addEventListener('abort', onAbort)
    entry.resume = () => resolve(undefined)
    this.#running -= 1
    this.#enter(entry, WAITING, detail)
    this.#next()
    try {
      signal.throwIfAborted()
      await promise
    } finally {
      this.#running += 1
      entry.resume = undefined
      clearTimeout(late)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #finish(entry: Entry, status: JobStatus, rest: Partial<Job>, error: unknown = rest.error): void {
    const phases = this.#endedPhases(entry)
    this.#change(entry, { status, phase: status, phases, finished_at: this.#deps.now(), ...rest })
    if (status === 'done') entry.settle.resolve(rest.result)
    else entry.settle.reject(error)
  }

  #change(entry: Entry, change: Partial<Job>, line: string | null = null): void {
    entry.job = { ...entry.job, ...change }
    this.#deps.onProgress(entry.job, line)
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id)
    if (!entry) throw new AppError('not_found', `There is no job '${id.slice(0, 100)}'`)
    return entry
  }

  #forgetOldest(): void {
    for (const [id, { job }] of this.#entries) {
      if (this.#entries.size <= KEPT) return
      if (!isOpen(job)) this.#entries.delete(id)
    }
  }
}

const isOpen = ({ status }: Job): boolean => status === 'queued' || status === 'running'

const cancelled = ({ subject }: Job): AppError =>
  new AppError('job_cancelled', `The job for ${subject} was cancelled and has left nothing behind`)

const notContinued = ({ subject }: Job, timeoutMs: number): AppError =>
  new AppError(
    'job_cancelled',
    `The job for ${subject} was cancelled because it was not continued within ${Math.round(timeoutMs / 60_000)} minutes. It has left nothing behind`,
  )

const asAppError = (error: unknown): AppError =>
  error instanceof AppError
    ? error
    : new AppError('internal_error', 'The job failed unexpectedly', { cause: error })

function withResolvers() {
  let resolve: (value: unknown) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<unknown>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
