import { randomUUID } from 'node:crypto'
import { isatty } from 'node:tty'
import type { Command, Finished } from './run-command.ts'

/** A profile that waits for an answer must not keep the caller waiting. */
const TIMEOUT_MS = 5000

interface Options {
  readonly run: (command: Command) => Promise<Finished>
  /** The path of the user's shell, if there is one. */
  readonly shell: string | undefined
}

/**
 * The PATH in the user's login shell. Programs such as nvm extend it in files that only a shell reads, so a service or an
 * app that was started from a desktop does not have it.
 */
export class ShellPath {
  readonly #options: Options
  readonly #isKept: boolean
  readonly #closing = new AbortController()
  #asked: Promise<string | undefined> | undefined
  #known: string | undefined
  #hasAnswered = false

  /** Without a terminal, the shell is asked once, now, and its answer is kept. */
  constructor(options: Options, hasTerminal = isInTerminal()) {
    this.#options = options
    this.#isKept = !hasTerminal
    if (this.#isKept) void this.ask()
  }

  /** Undefined without a shell, or if it does not answer in time. */
  ask(): Promise<string | undefined> {
    if (!this.#isKept) return this.#askShell()
    this.#asked ??= this.#askShell().then((path) => {
      this.#hasAnswered = true
      this.#known = path
      return path
    })
    return this.#asked
  }

  /** Settles when `added` does not change any more. */
  async ready(): Promise<void> {
    if (this.#isKept) await this.ask()
  }

  /** Whether `added` is final. */
  get isReady(): boolean {
    return !this.#isKept || this.#hasAnswered
  }

  /** The folders that it adds to the PATH of this service; undefined if this service was started from a terminal. */
  added(): string | undefined {
    return this.#known
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#asked
  }

  async #askShell(): Promise<string | undefined> {
    const { run, shell } = this.#options
    if (shell === undefined) return undefined
    // A profile may print anything, before and after it.
    const [begin, end] = [randomUUID(), randomUUID()]
    let isInside = false
    let path: string | undefined
    const onLine: Command['onLine'] = (stream, text) => {
      if (stream !== 'stdout') return
      if (isInside && text !== end) path = text
      isInside = text.endsWith(begin)
    }
    // `printenv` prints it alike in every shell.
    const args = ['-l', '-i', '-c', `echo ${begin}; printenv PATH; echo ${end}`]
    const { signal } = this.#closing
    try {
      await run({ command: shell, args, env: {}, timeoutMs: TIMEOUT_MS, onLine, signal })
    } catch {
      return undefined // the shell does not exist
    }
    return path
  }
}

/** A service manager or a desktop sets no TERM. A shell does, also for programs whose output goes elsewhere. */
const isInTerminal = (): boolean => Boolean(process.env.TERM) || [0, 1, 2].some((file) => isatty(file))
