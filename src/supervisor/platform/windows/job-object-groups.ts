import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit, Launch, ProcessUsage } from '../platform.ts'
import { spawned } from '../spawning.ts'
import { JobObject } from './job-object.ts'
import { OpenedProcess } from './opened-process.ts'
import type { WindowsApi } from './windows-api.ts'
import { spawnOptions, WindowsProcessGroup, WindowsProcessGroups } from './windows-process-groups.ts'
import type { WindowsTable } from './windows-process-table.ts'

const POLL_MS = 10

/**
 * Each process in a Job Object of its own, inside of the one that holds Toolroom itself. Nothing outlives Toolroom: Windows
 * ends what is left in its job.
 */
export class JobObjectGroups extends WindowsProcessGroups {
  readonly #api: WindowsApi
  readonly #table: WindowsTable

  constructor(api: WindowsApi, table: WindowsTable) {
    super()
    this.#api = api
    this.#table = table
  }

  protected async startGroup(launch: Launch): Promise<JobObjectGroup> {
    const job = new JobObject(this.#api)
    try {
      const child = spawn(launch.path, launch.args, spawnOptions(launch))
      const { pid } = child
      // In the same tick, before it can start a process: that one would only be in the job of Toolroom.
      const failure = pid === undefined ? undefined : failureOf(() => job.add(pid))
      const { ended } = await spawned(child)
      if (pid === undefined) throw new Error('the process has no pid')
      if (failure !== undefined && isRunning(this.#api, pid)) {
        child.kill()
        throw new Error(`The process could not be assigned to a Job Object: ${failure}`)
      }
      return new JobObjectGroup(child, pid, ended, job, this.#table)
    } catch (error) {
      job.close()
      throw error
    }
  }
}

class JobObjectGroup extends WindowsProcessGroup {
  readonly #job: JobObject
  readonly #table: WindowsTable

  constructor(
    child: ConstructorParameters<typeof WindowsProcessGroup>[0],
    pid: number,
    ended: Promise<Exit>,
    job: JobObject,
    table: WindowsTable,
  ) {
    super(child, pid, ended)
    this.#job = job
    this.#table = table
  }

  async usage(): Promise<ProcessUsage[]> {
    return this.isEnding ? [] : this.#job.pids().flatMap((pid) => this.#table.usageOf(pid) ?? [])
  }

  protected async endAll(): Promise<void> {
    for (;;) {
      this.#job.terminate()
      if (this.#job.isEmpty) break
      await sleep(POLL_MS)
    }
    await this.ended
    this.#job.close()
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
