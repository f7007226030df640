import { homedir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { Frames, LOG_LINE_MAX_BYTES } from '../kernel/frames.ts'
import type { LastError } from '../kernel/server-state.ts'
import { Child, type Exit } from './child.ts'
import type { Reaper } from './reaper.ts'
import { resolveCommand } from './resolve-command.ts'
import { type Launched, StartFailure } from './runner.ts'
import { type Graces, stopLadder } from './stop-ladder.ts'

/** What to run. */
export interface Definition {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
}

/** The streams over which a tool server is spoken to. */
export interface Streams {
  readonly input: Writable
  readonly output: Readable
}

export interface Conversation {
  /** Handshake and tools; rejects with whatever went wrong. */
  ready(): Promise<void>
  /** Settles when it can no longer be talked to. */
  readonly lost: Promise<unknown>
  /** In words, when `ready` failed for another reason than that the process ended. */
  explain(error: unknown): { readonly error: LastError; readonly retry: boolean }
}

interface Options {
  readonly definition: Definition
  readonly mark: string
  readonly graces: Graces
  readonly reaper: Pick<Reaper, 'watch' | 'forget'>
  readonly converse: (streams: Streams) => Conversation
  /** A line that the server wrote for people. */
  readonly onLine: (text: string) => void
}

const TAIL_LINES = 20

/** Starts a process for a definition, or says with a StartFailure why that cannot be. */
export async function launch(options: Options): Promise<Launched> {
  const { definition, mark, graces, reaper } = options
  const child = await startChild(definition, mark)
  reaper.watch(child.group.leader)
  const tail = new Tail()
  const lines = new Frames(LOG_LINE_MAX_BYTES, ({ bytes, cut }) => {
    const text = bytes.toString('utf8') + (cut > 0 ? ` … (${cut} bytes cut)` : '')
    tail.add(text)
    options.onLine(text)
  })
  child.errors.on('data', (chunk: Buffer) => lines.push(chunk)).on('end', () => lines.end())
  child.errors.on('error', () => {}) // the pipe broke with the process; its exit says so
  const conversation = options.converse({ input: child.input, output: child.output })
  return {
    pid: child.pid,
    ended: child.ended,
    lost: conversation.lost,
    ready: () =>
      conversation.ready().catch((cause: unknown) => {
        const { error, retry } = conversation.explain(cause)
        throw new StartFailure(error, retry)
      }),
    explain: (exit) => explainExit(exit, tail),
    stop: async (onStep) => {
      await stopLadder(child, graces, onStep)
      reaper.forget(child.group.leader)
    },
  }
}

async function startChild({ command, args, env, cwd }: Definition, mark: string): Promise<Child> {
  const found = resolveCommand(command, {
    cwd: cwd ?? homedir(),
    env: { ...process.env, ...env },
    platform: process.platform,
  })
  if (!found.ok) {
    const { code, message, hint } = found
    throw new StartFailure({ code, message, hint }, false)
  }
  try {
    const own = { ...env, PATH: found.searchPath }
    return await Child.start({ path: found.path, args, cwd: found.cwd, env: own, mark })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const hint = 'Check the command, its arguments and its environment'
    throw new StartFailure(
      { code: 'spawn_failed', message: `The system did not start it: ${why}`, hint },
      false,
    )
  }
}

/** The last lines that a start left, for whoever asks why it ended. */
class Tail {
  readonly #lines: string[] = []

  add(line: string): void {
    if (line.trim() === '') return
    this.#lines.push(line)
    if (this.#lines.length > TAIL_LINES) this.#lines.shift()
  }

  /** The line that most likely names the cause: the first that speaks of an error, else the last. */
  get decisive(): string | undefined {
    return (
      this.#lines.find((line) =>
        /\b(?:error|fatal|missing|required|cannot|denied|refused|not found)\b/i.test(line),
      ) ?? this.#lines.at(-1)
    )
  }
}

function explainExit({ code, signal }: Exit, tail: Tail): LastError {
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
  const said = tail.decisive
  return {
    code: 'exited',
    message: said === undefined ? `It ${how} without a word` : `It ${how}: ${said}`,
    hint:
      said === undefined
        ? 'Run the command in a terminal to see what it needs'
        : 'Its log has the lines before',
  }
}
