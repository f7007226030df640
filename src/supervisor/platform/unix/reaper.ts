import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AfterUs, Group } from '../platform.ts'
import type { KnownProcess } from '../process-table.ts'

const RESTART_MS = 500

interface Options {
  /** `NAME=value`, as in the environment of the started processes. */
  readonly mark: string
  /** A cgroup that the reaper creates for the groups; undefined where that is not possible. */
  readonly cgroup?: string | undefined
  readonly onTrouble: (message: string) => void
  readonly script: string
  /** The start time of a process, as the script reads it. */
  readonly startText: (startedAt: number) => string
}

/** A small process in its own session that outlives the service and ends what it leaves. Started with the first server. */
export class Reaper implements AfterUs {
  readonly #options: Options
  /** What the reaper knows, as lines without their sign. */
  readonly #known = new Set<string>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  watch(group: Group): void {
    this.#add(this.#groupLine(group))
    if (!this.#process && !this.#restart) this.#start()
  }

  forget(group: Group): void {
    this.#remove(this.#groupLine(group))
  }

  watchProcess(process: KnownProcess): void {
    this.#add(this.#processLine(process))
  }

  forgetProcess(process: KnownProcess): void {
    this.#remove(this.#processLine(process))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#restart)
    const reaper = this.#process
    if (!reaper || reaper.exitCode !== null) return
    const ended = once(reaper, 'exit')
    this.#send('bye')
    await ended
  }

  #add(line: string): void {
    this.#known.add(line)
    this.#send(`+${line}`)
  }

  #remove(line: string): void {
    if (this.#known.delete(line)) this.#send(`-${line}`)
  }

  #start(): void {
    const { mark, script, cgroup = '' } = this.#options
    // Detached: a Ctrl-C in the terminal reaches every process of the service's own group.
    const reaper = spawn('/bin/sh', ['-c', script, 'toolroom-reaper', mark, cgroup], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
    })
    this.#process = reaper
    reaper.stdin?.on('error', () => {}) // it has ended, which 'exit' reports
    reaper.on('error', (error) => this.#startAgain(error.message))
    reaper.on('exit', () => this.#startAgain('it has ended'))
    reaper.unref()
    for (const line of this.#known) this.#send(`+${line}`)
  }

  /** Without the reaper, a killed service would leave processes behind. */
  #startAgain(why: string): void {
    if (this.#closed || this.#restart) return
    this.#options.onTrouble(`the reaper process has failed (${why}) and is restarted`)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.#start()
    }, RESTART_MS)
    this.#restart.unref()
  }

  #send(line: string): void {
    const input = this.#process?.stdin
    if (input?.writable) input.write(`${line}\n`)
  }

  #groupLine({ leader, startedAt }: Group): string {
    return `g ${leader}:${startedAt === undefined ? 0 : this.#options.startText(startedAt)}`
  }

  #processLine({ pid, startedAt }: KnownProcess): string {
    return `p ${pid}:${this.#options.startText(startedAt)}`
  }
}
