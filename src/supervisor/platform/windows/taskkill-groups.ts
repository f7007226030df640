import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit, Launch, ProcessGroup, ProcessGroups } from '../platform.ts'
import type { KnownProcess } from '../process-table.ts'
import { spawned } from '../spawning.ts'
import { listSlowly, stillThere, taskkill } from './slow-list.ts'
import { spawnOptions } from './spawn-options.ts'

const POLL_MS = 100

/** Without Job Objects: descendants are found in the list of processes, by their parent and start time. */
export class TaskkillGroups implements ProcessGroups {
  readonly leftovers = 0
  readonly #open = new Set<ProcessGroup>()

  async start(launch: Launch): Promise<ProcessGroup> {
    const child = spawn(launch.path, launch.args, spawnOptions(launch))
    const { ended } = await spawned(child)
    const group = new TaskkillGroup(child, ended, () => this.#open.delete(group))
    this.#open.add(group)
    return group
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#open].map((group) => group.end()))
  }

  async close(): Promise<void> {}
}

class TaskkillGroup implements ProcessGroup {
  readonly pid: number
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  readonly ended: Promise<Exit>
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #onEnd: () => void
  #known: readonly KnownProcess[] = []
  #end: Promise<void> | undefined

  constructor(
    child: ChildProcessByStdio<Writable, Readable, Readable>,
    ended: Promise<Exit>,
    onEnd: () => void,
  ) {
    this.pid = child.pid ?? 0
    this.input = child.stdin
    this.output = child.stdout
    this.errors = child.stderr
    this.ended = ended
    this.#child = child
    this.#onEnd = onEnd
  }

  settled(): void {
    void this.#find()
  }

  async closeInput(): Promise<void> {
    await this.#find() // before its children lose their parent
    this.input.end()
  }

  ask(): boolean {
    return false
  }

  end(): Promise<void> {
    this.#end ??= this.#endAll()
    return this.#end
  }

  /** Not known. */
  async usage(): Promise<undefined> {
    return undefined
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The processes that are left, as far as the list tells; undefined without a list. */
  async #find(): Promise<readonly KnownProcess[] | undefined> {
    const listed = await listSlowly()
    if (!listed) return undefined
    // Its pid is not reused before Node has reported its end.
    const leader = this.#isRunning ? listed.filter(({ pid }) => pid === this.pid) : []
    const found = [...stillThere([...this.#known, ...leader], listed).values()]
    this.#known = found
    return found
  }

  /** Without a deadline: a server is not stopped while one of its processes is there. */
  async #endAll(): Promise<void> {
    for (;;) {
      const left = await this.#find()
      if (left?.length === 0) break
      if (left) await taskkill(left.map(({ pid }) => pid))
      else if (this.#isRunning) await taskkill([this.pid], '/T')
      else break
      await sleep(POLL_MS)
    }
    await this.ended
    this.#onEnd()
  }
}
