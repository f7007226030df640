import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Exit, Launch, ProcessGroup, ProcessGroups, ProcessUsage } from '../platform.ts'
import { environmentOf } from '../spawning.ts'
import { INHERITED, merged } from './windows-environment.ts'

/** The processes of one run, and how all of them are ended. */
export abstract class WindowsProcessGroups implements ProcessGroups {
  readonly leftovers = 0
  readonly #open = new Set<WindowsProcessGroup>()

  async start(launch: Launch): Promise<ProcessGroup> {
    const group = await this.startGroup(launch)
    this.#open.add(group)
    void group.emptied.then(() => this.#open.delete(group))
    return group
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#open].map((group) => group.end()))
  }

  async close(): Promise<void> {}

  protected abstract startGroup(launch: Launch): Promise<WindowsProcessGroup>
}

/** A process with its streams. A subclass finds its descendants. */
export abstract class WindowsProcessGroup implements ProcessGroup {
  readonly pid: number
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  readonly ended: Promise<Exit>
  /** Settles when `end` has ended everything. */
  readonly emptied: Promise<void>
  #onEmpty: () => void = () => {}
  #end: Promise<void> | undefined

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>, pid: number, ended: Promise<Exit>) {
    this.pid = pid
    this.input = child.stdin
    this.output = child.stdout
    this.errors = child.stderr
    this.ended = ended
    this.emptied = new Promise((resolve) => {
      this.#onEmpty = resolve
    })
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
    this.#end ??= this.endAll().then(() => this.#onEmpty())
    return this.#end
  }

  abstract usage(): Promise<ProcessUsage[] | undefined>

  protected get isEnding(): boolean {
    return this.#end !== undefined
  }

  /** Without a deadline: a server is not stopped while one of its processes is there. */
  protected abstract endAll(): Promise<void>
}

/** Never detached: each grandchild would open a console window of its own. */
export function spawnOptions({ cwd, env, mark, verbatim = false }: Launch) {
  return {
    cwd,
    env: merged(environmentOf({ env, mark }, INHERITED), { PATH: env.PATH }),
    shell: false,
    stdio: ['pipe', 'pipe', 'pipe'] as ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    windowsVerbatimArguments: verbatim,
  }
}
