import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { REAPER_SCRIPT } from './reaper-script.ts'
import type { Group } from './signals.ts'

const RESTART_MS = 500

interface Options {
  /** `NAME=value`, as in the environment of the started processes. */
  readonly mark: string
  /** A cgroup that the reaper creates for the groups; undefined where that is not possible. */
  readonly cgroup?: string | undefined
  readonly onTrouble: (message: string) => void
}

/** A process outside of its group, by its pid and start time. */
export interface KnownProcess {
  readonly pid: number
  readonly startedAt: number
}

/** A small process in its own session that outlives the service and ends what it leaves. Started with the first server. */
export class Reaper {
  readonly #options: Options
  /** What the reaper knows, as lines without their sign. */
  readonly #known = new Set<string>()
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** To be called before anything of the new process is read. */
  watch(group: Group): void {
    this.#add(lineOf(group))
    if (!this.#process && !this.#restart) this.#start()
  }

  /** To be called when the group is empty: its number may be reused. */
  forget(group: Group): void {
    this.#remove(lineOf(group))
  }

  watchProcess(process: KnownProcess): void {
    this.#add(processLine(process))
  }

  forgetProcess(process: KnownProcess): void {
    this.#remove(processLine(process))
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
    const { mark, cgroup = '' } = this.#options
    // Detached: a Ctrl-C in the terminal reaches every process of the service's own group.
    const reaper = spawn('/bin/sh', ['-c', REAPER_SCRIPT, 'toolroom-reaper', mark, cgroup], {
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
}

const lineOf = ({ leader, startedAt = 0 }: Group): string => `g ${leader}:${startedAt}`
const processLine = ({ pid, startedAt }: KnownProcess): string => `p ${pid}:${startedAt}`
