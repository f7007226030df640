import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit, Launch, ProcessGroup, ProcessGroups, ProcessUsage } from '../platform.ts'
import { spawned } from '../spawning.ts'
import { Job } from './job.ts'
import { OpenedProcess } from './process-reader.ts'
import { spawnOptions } from './spawn-options.ts'
import type { WindowsApi } from './windows-api.ts'
import type { WindowsTable } from './windows-table.ts'

const POLL_MS = 10

/** Each process in a Job Object of its own, inside of the one that holds Toolroom itself. */
export class JobObjects implements ProcessGroups {
  readonly leftovers = 0
  readonly #api: WindowsApi
  readonly #table: WindowsTable
  readonly #open = new Set<JobObject>()

  constructor(api: WindowsApi, table: WindowsTable) {
    this.#api = api
    this.#table = table
  }

  async start(launch: Launch): Promise<ProcessGroup> {
    const group = await JobObject.start(this.#api, this.#table, launch)
    this.#open.add(group)
    void group.emptied.then(() => this.#open.delete(group))
    return group
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#open].map((group) => group.end()))
  }

  /** Nothing outlives Toolroom: Windows ends what is left in its job. */
  async close(): Promise<void> {}
}

type Spawned = ChildProcessByStdio<Writable, Readable, Readable>

class JobObject implements ProcessGroup {
  readonly pid: number
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  readonly ended: Promise<Exit>
  /** Settles when `end` has ended everything. */
  readonly emptied: Promise<void>
  readonly #job: Job
  readonly #table: WindowsTable
  #end: Promise<void> | undefined
  #onEmpty: () => void = () => {}

  private constructor(child: Spawned, pid: number, ended: Promise<Exit>, job: Job, table: WindowsTable) {
    this.pid = pid
    this.input = child.stdin
    this.output = child.stdout
    this.errors = child.stderr
    this.ended = ended
    this.#job = job
    this.#table = table
    this.emptied = new Promise((resolve) => {
      this.#onEmpty = resolve
    })
  }

  static async start(api: WindowsApi, table: WindowsTable, launch: Launch): Promise<JobObject> {
    const job = new Job(api)
    try {
      const child = spawn(launch.path, launch.args, spawnOptions(launch))
      const { pid } = child
      // In the same tick, before it can start a process: that one would only be in the job of Toolroom.
      const failure = pid === undefined ? undefined : failureOf(() => job.add(pid))
      const { ended } = await spawned(child)
      if (pid === undefined) throw new Error('the process has no pid')
      if (failure !== undefined && isRunning(api, pid)) {
        child.kill()
        throw new Error(`The process could not be assigned to a Job Object: ${failure}`)
      }
      return new JobObject(child, pid, ended, job, table)
    } catch (error) {
      job.close()
      throw error
    }
  }

  settled(): void {}

  async closeInput(): Promise<void> {
    this.input.end()
  }

  /** Windows has no signal that a program without a window would receive. */
  ask(): boolean {
    return false
  }

  end(): Promise<void> {
    this.#end ??= this.#endAll()
    return this.#end
  }

  async usage(): Promise<ProcessUsage[]> {
    return this.#end !== undefined ? [] : this.#job.pids().flatMap((pid) => this.#table.usageOf(pid) ?? [])
  }

  /** Without a deadline: a server is not stopped while one of its processes is there. */
  async #endAll(): Promise<void> {
    for (;;) {
      this.#job.terminate()
      if (this.#job.isEmpty) break
      await sleep(POLL_MS)
    }
    await this.ended
    this.#job.close()
    this.#onEmpty()
  }
}

function failureOf(act: () => void): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return String(error)
  }
}

function isRunning(api: WindowsApi, pid: number): boolean {
  const opened = OpenedProcess.open(api, pid)
  try {
    return opened?.isRunning ?? false
  } finally {
    opened?.close()
  }
}
