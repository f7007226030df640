import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder, writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'

/** What the service manager of the operating system knows about Toolroom. */
export interface ServiceState {
  /** The file that describes the service to it. */
  readonly file: string
  readonly installed: boolean
  /** Started at login. */
  readonly enabled: boolean
  readonly running: boolean
  /** It has ended with an error, and is not started again. */
  readonly failed: boolean
  readonly pid: number | null
}

/** The program that the service manager starts. */
export interface Program {
  readonly command: string
  /** The file of Toolroom. */
  readonly mainFile: string
  /** Its data folder. */
  readonly data: string
  readonly env: Readonly<Record<string, string>>
}

/** One implementation for each operating system, each in its own file. */
export interface ServiceManager {
  readonly name: string
  readonly file: string
  /** The content of `file`. */
  describe(program: Program): string
  /** The commands that `install` runs, for a dry run. */
  readonly commands: readonly string[]
  /** Whether it asks a running program to end before it stops or replaces it. */
  readonly asksToEnd: boolean
  /** Throws a sentence if it cannot be used here. */
  check(): Promise<void>
  /** Writes the file, and starts the program now and at every login. Throws a sentence, after taking everything back. */
  install(program: Program): Promise<void>
  /** Stops the program and removes the file. */
  uninstall(): Promise<void>
  state(): Promise<ServiceState>
  /** The command that shows why it failed. */
  readonly logCommand: string
  /** What else the user may want to do. */
  hint(): string | null
}

/** In every file that Toolroom writes for a service manager. A file without it belongs to another program. */
export const OURS = 'Written by `toolroom service install`. `toolroom service uninstall` removes it.'

const MAX_BYTES = 65_536

/** The file that describes the service. It is restored when what comes after its writing fails. */
export class ServiceFile {
  readonly path: string
  readonly #encoding: BufferEncoding

  constructor(path: string, encoding: BufferEncoding = 'utf8') {
    this.path = path
    this.#encoding = encoding
  }

  read(): string | undefined {
    try {
      return readForeign(this.path, MAX_BYTES).bytes.toString(this.#encoding)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  isOurs(): boolean {
    return this.read()?.includes(OURS) ?? false
  }

  /** Throws for a file of another program. */
  refuseForeign(): void {
    if (this.read() !== undefined && !this.isOurs())
      throw new Error(`${this.path} exists and was not written by Toolroom`)
  }

  /** Writes it for `work`, and takes that back if `work` fails. */
  async writeFor(text: string, work: () => Promise<void>): Promise<void> {
    const before = this.read()
    makeFolder(dirname(this.path))
    this.#write(text)
    try {
      await work()
    } catch (error) {
      if (before === undefined) this.remove()
      else this.#write(before)
      throw error
    }
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }

  #write(text: string): void {
    writeDurably(this.path, Buffer.from(text, this.#encoding), 0o644)
  }
}

const TIMEOUT_MS = 60_000

/** Runs a program of the operating system to its end. Rejects with a sentence that has its last line. */
export type RunTool = (command: string, args: readonly string[]) => Promise<string>

export const runTool: RunTool = (command, args) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: 'C', SYSTEMD_COLORS: '0' }
    execFile(command, args, { timeout: TIMEOUT_MS, env, windowsHide: true }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      const end = typeof error.code === 'number' ? `exit code ${error.code}` : error.message
      const line = stderr.trim().split('\n').at(-1) || end
      reject(new Error(`${[command, ...args].join(' ')} failed: ${line}`))
    })
  })

/** What XML 1.0 cannot express, not even as a reference. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const IMPOSSIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text between two tags. Throws a sentence for a text that XML cannot express. */
export function xmlText(text: string): string {
  if (IMPOSSIBLE.test(text))
    throw new Error(`${JSON.stringify(text)} has a character that XML cannot express`)
  // A parser changes line breaks that are not written as references.
  return text.replace(/[&<>"\t\r\n]/g, (found) => NAMED[found] ?? `&#${found.charCodeAt(0)};`)
}
