import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stream } from '../kernel/log.ts'
import type { RepairAction } from '../kernel/repair-action.ts'
import type { LastError } from '../kernel/server-state.ts'
import { LineReader, LOG_LINE_MAX_BYTES } from '../mcp/protocol/line-splitter.ts'
import { explainExit } from './exit/explain-exit.ts'
import type { Placed, Places } from './places/places.ts'
import { StartFailure } from './process/start-child.ts'
import { type Graces, stopLadder } from './process/stop-ladder.ts'
import type { Launched } from './runner.ts'

/** The stdio of a tool server, as its MCP connection uses it. */
export interface Streams {
  readonly input: Writable
  readonly output: Readable
  /** Called with output that is not an MCP message. `cut` bytes of it are missing. */
  readonly onStrayLine: (text: string, cut: number) => void
  /** Called with the text of a log notification. */
  readonly onLogText: (text: string) => void
}

export interface McpConnection {
  /** Resolves after the handshake and the tool list. */
  ready(): Promise<void>
  /** Settles when the connection is closed. */
  readonly lost: Promise<unknown>
  /** Explains why `ready` rejected while the process was running. */
  explain(error: unknown): { readonly error: LastError; readonly retry: boolean }
}

/** Called with each line of stderr, each log notification, and each line of stdout that is not a message. */
export type OnLine = (stream: Stream, text: string, cut: number) => void

interface Options {
  readonly definition: Placed
  readonly places: Pick<Places, 'start'>
  readonly mark: string
  /** Read when it is stopped, because the settings may have changed since the start. */
  readonly graces: () => Graces
  readonly connect: (streams: Streams) => McpConnection
  readonly onLine: OnLine
  /** Masks secrets. */
  readonly clean: (text: string) => string
}

/** The last output of a process is usually read shortly after its end. */
const LAST_OUTPUT_MS = 200

/** Starts the process of a tool server. Rejects with a StartFailure. */
export async function launch(options: Options): Promise<Launched> {
  const { definition, clean } = options
  const cleaned = (error: LastError) => cleanError(error, clean)
  const child = await options.places.start(definition, options.mark).catch((error: unknown) => {
    throw error instanceof StartFailure ? new StartFailure(cleaned(error.error), error.retry) : error
  })
  const [stderr, noise] = [new Tail(), new Tail()]
  new LineReader(child.errors, LOG_LINE_MAX_BYTES, ({ bytes, cut }) => {
    const text = bytes.toString('utf8')
    stderr.add(text)
    options.onLine('stderr', text, cut)
  })
  child.errors.on('error', () => {}) // the process has ended, which `ended` reports
  const onStrayLine = (text: string, cut: number) => {
    noise.add(text)
    options.onLine('stdout', text, cut)
  }
  const onLogText = (text: string) => options.onLine('mcp', text, 0)
  const client = options.connect({ input: child.input, output: child.output, onStrayLine, onLogText })
  return {
    pid: child.pid,
    ended: child.ended,
    lost: client.lost,
    ready: async () => {
      try {
        await client.ready()
      } catch (cause) {
        const { error, retry } = client.explain(cause)
        throw new StartFailure(cleaned(error), retry)
      }
      child.settled() // most servers have started their children by now
    },
    usage: () => child.usage(),
    get tail() {
      return stderr.last(20).map(clean)
    },
    explain: (exit, wasRunning) => {
      const output = { stderr: stderr.all, noise: noise.all }
      const { args, env, skippedScripts, confinement } = definition
      const { isolation, isolation_options } = confinement
      const limitMb = isolation === 'container' ? isolation_options.memory_mb : undefined
      const started = { args, env, skippedScripts, limitMb, isIsolated: isolation !== 'none' }
      return cleaned(explainExit({ ...exit, ...output, wasRunning, ...started }))
    },
    stop: async (onStep) => {
      await stopLadder(child, options.graces(), onStep)
      const read = Promise.allSettled([finished(child.errors), finished(child.output)])
      await Promise.race([read, sleep(LAST_OUTPUT_MS, undefined, { ref: false })])
    },
  }
}

/** The error without secrets, as everyone may read it. */
export const cleanError = (
  { code, message, hint, action }: LastError,
  clean: Options['clean'],
): LastError => ({
  code,
  message: clean(message),
  hint: hint && clean(hint),
  action: action && cleanAction(action, clean),
})

/** Undefined if what it names contains a secret: then it cannot be used. */
function cleanAction(action: RepairAction, clean: Options['clean']): RepairAction | undefined {
  const isClean = Object.values<string | null>({ ...action }).every(
    (text) => text === null || clean(text) === text,
  )
  return isClean ? action : undefined
}

const MAX_LINES = 40
const MAX_CHARACTERS = 2000

/** The last lines of a process, to explain its exit. */
class Tail {
  readonly #lines: string[] = []

  add(line: string): void {
    if (line.trim() === '') return
    this.#lines.push(line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line)
    if (this.#lines.length > MAX_LINES) this.#lines.shift()
  }

  get all(): readonly string[] {
    return [...this.#lines]
  }

  last(count: number): string[] {
    return this.#lines.slice(-count)
  }
}
