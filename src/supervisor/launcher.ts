import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stream } from '../kernel/log.ts'
import type { LastError } from '../kernel/server-state.ts'
import { FrameReader, LOG_LINE_MAX_BYTES } from '../protocol/frames.ts'
import { explainExit } from './exit/explain-exit.ts'
import { Tail } from './exit/tail.ts'
import type { Reaper } from './process/reaper.ts'
import { type Definition, StartFailure, startChild } from './process/start-child.ts'
import { type Graces, stopLadder } from './process/stop-ladder.ts'
import type { Launched } from './runner.ts'

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
      const output = { stderr: stderr.all, noise: noise.all }
      return cleaned(explainExit({ ...exit, ...output, wasRunning, args: definition.args }))
    },
    stop: async (onStep) => {
      await stopLadder(child, options.graces(), onStep)
      reaper.forget(child.group.leader)
      const read = Promise.allSettled([finished(child.errors), finished(child.output)])
      await Promise.race([read, sleep(LAST_WORDS_MS, undefined, { ref: false })])
    },
  }
}
