import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Group } from './signals.ts'
import { groupOf } from './signals.ts'
import type { Stoppable } from './stop-ladder.ts'

/** What a child gets of our environment; the rest, our token and data folder above all, is none of its business. */
const INHERITED = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

export interface Launch {
  /** A path that was found to be a program. */
  readonly path: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly mark: string
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** One process with everything that it will start. */
export class Child implements Stoppable {
  readonly pid: number
  readonly group: Group
  readonly mark: string
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  readonly ended: Promise<Exit>

  private constructor(child: ChildProcessByStdio<Writable, Readable, Readable>, pid: number, mark: string) {
    this.pid = pid
    this.group = groupOf(pid)
    this.mark = mark
    this.input = child.stdin
    this.output = child.stdout
    this.errors = child.stderr
    // Not 'close': a grandchild may hold the pipes open long after the process is gone.
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.input.on('error', () => {}) // a write to a process that has ended; its exit says so
  }

  /** Rejects when the operating system cannot start it, whether it says so at once or a moment later. */
  static async start({ path, args, cwd, env, mark }: Launch): Promise<Child> {
    const [name = '', value = ''] = splitMark(mark)
    const child = spawn(path, args, {
      cwd,
      env: { ...inherited(), ...env, [name]: value },
      shell: false,
      detached: true, // a group of its own, so that its children can be told together with it
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    if (child.pid === undefined) throw new Error('the process has no pid')
    return new Child(child, child.pid, mark)
  }

  closeInput(): void {
    this.input.end()
  }
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

function splitMark(mark: string): [string, string] {
  const at = mark.indexOf('=')
  return [mark.slice(0, at), mark.slice(at + 1)]
}
