import { homedir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stream } from '../kernel/log.ts'
import type { LastError, Plan } from '../kernel/server-state.ts'
import { FrameReader, LOG_LINE_MAX_BYTES } from '../protocol/frames.ts'
import { explainExit } from './exit/explain-exit.ts'
import { Tail } from './exit/tail.ts'
import { Child } from './process/child.ts'
import type { Reaper } from './process/reaper.ts'
import { resolveCommand } from './process/resolve-command.ts'
import { type Graces, stopLadder } from './process/stop-ladder.ts'
import { type Launched, StartFailure } from './runner.ts'

/** What to run. */
export type Definition = Pick<Plan, 'command' | 'args' | 'env' | 'cwd'>

/** How a tool server is spoken to. */
export interface Streams {
  readonly input: Writable
  readonly output: Readable
  /** What stands on its output and is no message; `cut` bytes of it are missing. */
  readonly onNoise: (text: string, cut: number) => void
  /** What it says for people over the protocol. */
  readonly onSaid: (text: string) => void
}

export interface Conversation {
  /** Handshake and tools; rejects with whatever went wrong. */
  ready(): Promise<void>
  /** Settles when it can no longer be talked to. */
  readonly lost: Promise<unknown>
  /** In words, when `ready` failed for another reason than that the process ended. */
  explain(error: unknown): { readonly error: LastError; readonly retry: boolean }
}

/** A line that a server wrote for people, or that is no message though it stands where messages belong. */
export type OnLine = (stream: Stream, text: string, cut: number) => void

interface Options {
  readonly definition: Definition
  readonly mark: string
  /** Asked when it is stopped: they may have changed since the start. */
  readonly graces: () => Graces
  readonly reaper: Pick<Reaper, 'watch' | 'forget'>
  readonly converse: (streams: Streams) => Conversation
  readonly onLine: OnLine
  /** Hides secrets in what a person will read. */
  readonly clean: (text: string) => string
}

/** What a process wrote before its end is mostly read a moment after it. */
const LAST_WORDS_MS = 200

/** Starts a process for a definition, or says with a StartFailure why that cannot be. */
export async function launch(options: Options): Promise<Launched> {
  const { definition, reaper, clean } = options
  const child = await startChild(definition, options.mark)
  reaper.watch(child.group.leader)
  const [stderr, noise] = [new Tail(), new Tail()]
  new FrameReader(child.errors, LOG_LINE_MAX_BYTES, ({ bytes, cut }) => {
    const text = bytes.toString('utf8')
    stderr.add(text)
    options.onLine('stderr', text, cut)
  })
  child.errors.on('error', () => {}) // the pipe broke with the process; its exit says so
  const onNoise = (text: string, cut: number) => {
    noise.add(text)
    options.onLine('stdout', text, cut)
  }
  const onSaid = (text: string) => options.onLine('mcp', text, 0)
  const conversation = options.converse({ input: child.input, output: child.output, onNoise, onSaid })
  const cleaned = ({ code, message, hint }: LastError): LastError => ({
    code,
    message: clean(message),
    hint: hint && clean(hint),
  })
  return {
    pid: child.pid,
    ended: child.ended,
    lost: conversation.lost,
    ready: () =>
      conversation.ready().catch((cause: unknown) => {
        const { error, retry } = conversation.explain(cause)
        throw new StartFailure(cleaned(error), retry)
      }),
    get tail() {
      return stderr.last(20).map(clean)
    },
    explain: (exit, wasRunning) => {
      const { command, args } = definition
      const said = { stderr: stderr.all, noise: noise.all }
      return cleaned(explainExit({ ...exit, ...said, wasRunning, command, args }))
    },
    stop: async (onStep) => {
      await stopLadder(child, options.graces(), onStep)
      reaper.forget(child.group.leader)
      const read = Promise.allSettled([finished(child.errors), finished(child.output)])
      await Promise.race([read, sleep(LAST_WORDS_MS, undefined, { ref: false })])
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
    throw notSpawned(error)
  }
}

/** What the system is short of comes back by itself; everything else needs a person. */
const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: 'open files',
  ENFILE: 'open files',
  EAGAIN: 'processes',
  ENOMEM: 'memory',
}

function notSpawned(cause: unknown): StartFailure {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const shortage = SHORTAGES[code]
  if (shortage !== undefined) {
    const message = `The system did not start it: there are no ${shortage} left (${code})`
    const hint =
      'Stop servers or programs that you do not need, or raise the limit; it is tried again by itself'
    return new StartFailure({ code: 'out_of_resources', message, hint }, true)
  }
  if (code === 'E2BIG') {
    const message =
      'The system did not start it: its arguments and environment are too large together (E2BIG)'
    return new StartFailure({ code: 'spawn_failed', message, hint: 'Shorten args or env' }, false)
  }
  const message = `The system did not start it: ${cause instanceof Error ? cause.message : String(cause)}`
  const hint = 'Check the command, its arguments and its environment'
  return new StartFailure({ code: 'spawn_failed', message, hint }, false)
}
