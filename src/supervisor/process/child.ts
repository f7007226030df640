import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Group } from './signals.ts'
import { groupOf } from './signals.ts'
import type { Stoppable } from './stop-ladder.ts'

/** The variables that a child inherits. It must not see the others, such as the token and the data folder. */
const INHERITED = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

export interface Launch {
  /** The path of an executable file. */
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

/** A process and its process group. */
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
    // Not 'close': a grandchild may hold the pipes open long after the process has ended.
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.input.on('error', () => {}) // a write to a process that has ended, which `ended` reports
  }

  /** Rejects if the operating system cannot start it. */
  static async start({ path, args, cwd, env, mark }: Launch): Promise<Child> {
    const [name = '', value = ''] = splitMark(mark)
    const child = spawn(path, args, {
      cwd,
      env: { ...inherited(), ...env, [name]: value },
      shell: false,
      detached: true, // a process group of its own, to signal it together with its children
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
