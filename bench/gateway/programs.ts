import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { childrenOf, untilPrinted } from '../subjects.ts'

const HERE = join(process.cwd(), 'bench/gateway')
export const ECHO = join(HERE, 'echo.mjs')
const SUBJECT_CPU = 1
const OTHERS_CPU = 0
const ENDS_WITHIN_MS = 10_000
const DEADLINE_MS = 120_000

/** A program that listens on a port: a baseline, or a server with an HTTP mode of its own. */
export class Listening {
  readonly pid: number
  readonly address: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, address: string) {
    this.pid = child.pid ?? 0
    this.address = address
    this.#child = child
  }

  static async open(args: readonly string[], home: string): Promise<Listening> {
    const env = { PATH: process.env.PATH, HOME: home }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    return new Listening(child, await untilPrinted(child, /ready at (http:\S+)/))
  }

  static floor = (home: string) => Listening.open([join(HERE, 'http-floor.mjs')], home)
  static passThrough = (home: string) => Listening.open([join(HERE, 'pass-through.mjs'), ECHO], home)

  children = () => childrenOf(this.pid)
  close = () => end(this.#child)
}

export interface Job {
  readonly port: number
  readonly lanes: number
  readonly times: number
  readonly steps: readonly string[]
}

export interface Measured {
  /** Milliseconds of one run through all steps. */
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
}

/** A process that runs jobs sent as messages and returns figures: load.mjs, stdio-leg.mjs. */
export class Worker<J extends object, M> {
  readonly pid: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.pid = child.pid ?? 0
    this.#child = child
  }

  static load(): Worker<Job, Measured> {
    return new Worker(fork(join(HERE, 'load.mjs')))
  }

  /** Also returns the process id of its server. */
  static async stdioLeg(...args: string[]) {
    const child = fork(join(HERE, 'stdio-leg.mjs'), [ECHO, ...args])
    const worker = new Worker<{ times: number; line: string }, Pick<Measured, 'p50' | 'p99'>>(child)
    const { pid } = await nextMessage<{ pid: number }>(child)
    return { worker, serverPid: pid }
  }

  run(job: J): Promise<M> {
    const answered = nextMessage<M & object>(this.#child)
    this.#child.send(job)
    return answered
  }

  close = () => end(this.#child)
}

/** The next message of the process. Rejects on an error message, on exit, and after the deadline. */
async function nextMessage<M extends object>(child: ChildProcess): Promise<M> {
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(DEADLINE_MS)])
  const ended = once(child, 'close', { signal }).then(() => ({
    error: 'a process of the benchmark has ended',
  }))
  const answered = once(child, 'message', { signal }).then(([message]) => message as M | { error: string })
  try {
    const message = await Promise.race([answered, ended])
    if ('error' in message) throw new Error(String(message.error))
    return message
  } finally {
    over.abort()
    await Promise.allSettled([answered, ended])
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS)
  await ended
  clearTimeout(late)
}

/**
 * Pins the measured processes to one core and all others, with their threads, to the other.
 * Returns false without `taskset`; then the system places them.
 */
export function place(subjects: readonly number[], others: readonly number[]): boolean {
  try {
    for (const pid of subjects) execFileSync('taskset', ['-acp', String(SUBJECT_CPU), String(pid)], QUIET)
    for (const pid of others) execFileSync('taskset', ['-acp', String(OTHERS_CPU), String(pid)], QUIET)
    return true
  } catch {
    return false
  }
}
const QUIET = { stdio: 'ignore' } as const
