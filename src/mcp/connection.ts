import type { Readable, Writable } from 'node:stream'
import type { LastError } from '../kernel/server-state.ts'
import type { CallResult } from './dialogue.ts'
import { explainFailure } from './explain.ts'
import type { Greeting } from './greeting.ts'
import { greet } from './handshake.ts'
import { Listening } from './listening.ts'
import { isObject } from './message.ts'
import { type Asker, discover, modernAsker } from './modern.ts'
import { Noise } from './noise.ts'
import { Peer } from './peer.ts'
import { saidIn } from './said.ts'
import { listTools, NO_TOOLS, type ToolList } from './tool-list.ts'
import { ToolWatch } from './tool-watch.ts'

interface Options {
  readonly input: Writable
  readonly output: Readable
  /** Toolroom's own, for the greeting. */
  readonly version: string
  readonly startMs: number
  /** The protocol version of the last time, which saves a modern server the question of the others. */
  readonly knownVersion?: string | null
  /** What stands on stdout and is no message, for the log; `cut` bytes of it are missing. */
  readonly onNoise: (text: string, cut: number) => void
  /** What a server says for people over the protocol. */
  readonly onSaid?: (text: string) => void
  readonly onTools: (list: ToolList) => void
  /** Everything else that it says unasked. */
  readonly onNote?: (method: string, params: unknown) => void
}

export interface CallOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** The caller's `_meta`, passed on. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly onProgress?: ((params: Readonly<Record<string, unknown>>) => void) | undefined
  readonly onAsked?: OnAsked | undefined
  /** The request as an agent of the modern era sent it, handed on whole if the server speaks that era. */
  readonly modern?: Readonly<Record<string, unknown>> | undefined
}

type OnAsked = (method: string, params: unknown) => Promise<unknown>

/** What a server may ask of whoever calls it. Not every caller can answer; then it is told so. */
const CAPABILITIES = { sampling: {}, elicitation: {} }
const PROBE_MS = 2000
const ASKED_OF_AGENTS = ['sampling/createMessage', 'elicitation/create']

/** A conversation with one tool server, from the handshake to the end of its streams. */
export class Connection {
  readonly #options: Options
  readonly #peer: Peer
  readonly #noise = new Noise()
  readonly #watch: ToolWatch
  readonly #askable = new Set<OnAsked>()
  #asker: Asker
  #listening: Listening | undefined
  #modern: Promise<boolean> | undefined
  readonly lost: Promise<void>
  greeting: Greeting | undefined

  constructor(options: Options) {
    this.#options = options
    this.#peer = new Peer({
      input: options.input,
      output: options.output,
      onNoise: (bytes, missing) => {
        const { text, cut } = this.#noise.hear(bytes, missing)
        options.onNoise(text, cut)
      },
      onNotification: (method, params) => {
        if (method === 'notifications/tools/list_changed') return this.#watch.changed()
        if (method === 'notifications/message') options.onSaid?.(saidIn(params))
        options.onNote?.(method, params)
      },
      // Nothing says which call a question belongs to; the newest is the likeliest.
      onRequest: (method, params) =>
        ASKED_OF_AGENTS.includes(method) ? [...this.#askable].at(-1)?.(method, params) : undefined,
    })
    this.#asker = this.#peer
    this.#watch = new ToolWatch({
      list: (timeoutMs) => listTools(this.#asker, timeoutMs),
      timeoutMs: options.startMs,
      onTools: options.onTools,
    })
    this.lost = new Promise((resolve) => {
      options.output.once('close', () => {
        this.#watch.close()
        this.#listening?.close()
        resolve()
      })
    })
  }

  /** Lines on stdout that were no message. */
  get noiseLines(): number {
    return this.#noise.lines
  }

  get firstNoise(): string | undefined {
    return this.#noise.first
  }

  /** Ready is: greeted, and the tools are known. */
  async ready(): Promise<void> {
    const { version, startMs, knownVersion = null, onTools } = this.#options
    const deadline = performance.now() + startMs
    this.greeting = await greet(this.#peer, version, startMs, knownVersion, CAPABILITIES)
    const { era, capabilities } = this.greeting
    if (era === 'modern') this.#asker = modernAsker(this.#peer, version)
    if (!capabilities.tools) return onTools(NO_TOOLS)
    await this.#watch.first(Math.max(1, deadline - performance.now()))
    if (era === 'modern' && isObject(capabilities.tools) && capabilities.tools.listChanged === true) {
      this.#listening = new Listening(this.#asker, () => this.#watch.changed())
    }
  }

  /** The result as the server sent it, also when it says `isError`. Rejects with a RequestError. */
  call(tool: string, args: unknown, options: CallOptions): Promise<CallResult> {
    return this.relay('tools/call', { name: tool, arguments: args, _meta: options.meta }, options)
  }

  /** Any request, and its result as the server sent it. Rejects with a RequestError. */
  async relay(method: string, params: unknown, options: CallOptions): Promise<CallResult> {
    const { timeoutMs, signal, onProgress, onAsked, modern } = options
    const whole = modern && (await this.#speaksModern()) ? modern : undefined
    const asker = whole ? this.#peer : this.#asker
    const answers: OnAsked | undefined = onAsked && ((asked, about) => onAsked(asked, about))
    if (answers) this.#askable.add(answers)
    try {
      return await asker.requestRaw(method, whole ?? params, { timeoutMs, signal, onProgress })
    } finally {
      if (answers) this.#askable.delete(answers)
    }
  }

  /** A server that was greeted the old way may know the new one as well. It is asked once, when somebody needs it. */
  #speaksModern(): Promise<boolean> {
    this.#modern ??=
      this.greeting?.era === 'modern'
        ? Promise.resolve(true)
        : discover(this.#peer, this.#options.version, PROBE_MS).then(
            () => true,
            () => false,
          )
    return this.#modern
  }

  explain(error: unknown): { error: LastError; retry: boolean } {
    const step = this.greeting === undefined ? 'initialize' : 'tools/list'
    return explainFailure(error, { step, startMs: this.#options.startMs, firstNoise: this.firstNoise })
  }
}
