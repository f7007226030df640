import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder, writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { Failure } from '../run/failure.ts'

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

/** In every file that Toolroom writes for a service manager. A file without it belongs to another program. */
export const OURS = 'Written by `toolroom service install`. `toolroom service uninstall` removes it.'

const MAX_BYTES = 65_536
const NOT_INSTALLED = { enabled: false, running: false, failed: false, pid: null }

/** The service manager of an operating system, and the file that describes Toolroom to it. */
export abstract class ServiceManager {
  abstract readonly name: string
  readonly file: string
  /** Whether it asks a running program to end before it stops or replaces it. */
  abstract readonly asksToEnd: boolean
  /** The command that shows why it failed. */
  abstract readonly logCommand: string
  /** The commands that `install` runs, for a dry run. */
  abstract readonly commands: readonly string[]
  protected readonly run: RunTool
  readonly #encoding: BufferEncoding

  constructor(file: string, run: RunTool = runTool, encoding: BufferEncoding = 'utf8') {
    this.file = file
    this.run = run
    this.#encoding = encoding
  }

  /** The content of `file`. */
  abstract describe(program: Program): string
  /** Throws a sentence if it cannot be used here. */
  abstract check(): Promise<void>
  /** Why it cannot be used here, or null. Changes nothing. */
  abstract problem(): Promise<string | null>
  /**
   * Writes the file, and starts the program at every login, by default also now. Throws a sentence, after taking everything
   * back.
   */
  abstract install(program: Program, from?: 'now' | 'login'): Promise<void>
  /** Starts the installed program. */
  abstract start(): Promise<void>
  /** Stops the program and removes the file. */
  abstract uninstall(): Promise<void>
  /** What the file contains if it starts the program with this data folder. */
  protected abstract markOf(data: string): string
  /** What it knows about the service of our file; undefined if it does not know the service. */
  protected abstract serviceState(): Promise<Omit<ServiceState, 'file' | 'installed'> | undefined>

  async state(): Promise<ServiceState> {
    const known = this.#read()?.includes(OURS) ? await this.serviceState() : undefined
    return { file: this.file, installed: known !== undefined, ...(known ?? NOT_INSTALLED) }
  }

  /** Whether our file is there, and is that of this data folder. */
  serves(data: string): boolean {
    const text = this.#read()
    return text?.includes(OURS) === true && text.includes(this.markOf(data))
  }

  /** Throws if the program has ended with an error, and is not started again. */
  async refuseFailed(): Promise<void> {
    const { failed } = await this.state()
    if (failed) throw new Failure('failed', 'The service has ended with an error', `See ${this.logCommand}`)
  }

  /** What else the user may want to do. */
  hint(): string | null {
    return null
  }

  /** What the file is if it does not belong to this data folder; null if there is none. */
  occupied(): string | null {
    const text = this.#read()
    if (text === undefined) return null
    return text.includes(OURS)
      ? `${this.file} starts the Toolroom of another data folder`
      : `${this.file} exists and was not written by Toolroom`
  }

  /** Throws for a file of another program. */
  protected refuseForeignFile(): void {
    if (this.#read()?.includes(OURS) === false) throw new Error(this.occupied() ?? '')
  }

  /** Writes the file for `work`, and takes that back if `work` fails. */
  protected async writeFileFor(program: Program, work: () => Promise<void>): Promise<void> {
    const text = this.describe(program)
    const before = this.#read()
    makeFolder(dirname(this.file))
    this.#write(text)
    try {
      await work()
    } catch (error) {
      if (before === undefined) this.removeFile()
      else this.#write(before)
      throw error
    }
  }

  protected removeFile(): void {
    rmSync(this.file, { force: true })
  }

  #read(): string | undefined {
    try {
      return readForeign(this.file, MAX_BYTES).bytes.toString(this.#encoding)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  #write(text: string): void {
    writeDurably(this.file, Buffer.from(text, this.#encoding), 0o644)
  }
}

const TIMEOUT_MS = 60_000

/** Runs a program of the operating system to its end. Rejects with a sentence that has its last line. */
export type RunTool = (command: string, args: readonly string[]) => Promise<string>

export const runToolWith =
  (variables: NodeJS.ProcessEnv): RunTool =>
  (command, args) =>
    new Promise((resolve, reject) => {
      const env = { ...variables, LC_ALL: 'C', SYSTEMD_COLORS: '0' }
      execFile(command, args, { timeout: TIMEOUT_MS, env, windowsHide: true }, (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        const end = typeof error.code === 'number' ? `exit code ${error.code}` : error.message
        const line = stderr.trim().split('\n').at(-1) || end
        reject(new Error(`${[command, ...args].join(' ')} failed: ${line}`))
      })
    })

export const runTool: RunTool = runToolWith(process.env)

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
