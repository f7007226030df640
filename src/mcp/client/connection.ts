import type { Readable, Writable } from 'node:stream'
import type { LastError } from '../../kernel/server-state.ts'
import type { CallResult, TimedCallOptions } from '../../protocol/call.ts'
import type { Definition } from '../../upstreams/catalogues.ts'
import { Peer } from '../transports/stdio/stdio-peer.ts'
import { Noise } from '../transports/stdio/stray-output.ts'
import { announcedBy, Listening } from './change-subscription.ts'
import { explainFailure } from './explain-start-failure.ts'
import type { Greeting } from './greeting.ts'
import { greet } from './handshake.ts'
import { requestComplete } from './input-required.ts'
import { StandingWishes } from './legacy-subscriptions.ts'
import { type Asker, discover, modernAsker } from './modern-requests.ts'
import { noteTo } from './notification-router.ts'
import { type ListKind, OtherLists } from './other-lists.ts'
import { CAPABILITIES } from './server-requests.ts'
import { listTools, NO_TOOLS, type ToolList } from './tool-list.ts'
import { ToolWatch } from './tool-watch.ts'
import { refuseState } from './unknown-request-state.ts'

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
  /** Its prompts, resources or templates, as soon as it has said them. Not asked for where nobody wants to know. */
  readonly onList?: (kind: ListKind, items: readonly Definition[]) => void
  /** Everything else that it says unasked. */
  readonly onNote?: (method: string, params: unknown) => void
}

const PROBE_MS = 2000

/** A conversation with one tool server, from the handshake to the end of its streams. */
export class Connection {
  readonly #options: Options
  readonly #peer: Peer
  readonly #noise = new Noise()
  readonly #watch: ToolWatch
  readonly #others: OtherLists
  #wishes: StandingWishes | undefined
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
      onNotification: noteTo({
        ...options,
        onToolsChanged: () => this.#watch.changed(),
        onNote: (method, params) => {
          this.#others.heard(method)
          options.onNote?.(method, params)
        },
      }),
    })
    this.#asker = this.#peer
    this.#watch = new ToolWatch({
      list: (timeoutMs) => listTools(this.#asker, timeoutMs),
      timeoutMs: options.startMs,
      onTools: options.onTools,
    })
    this.#others = new OtherLists({
      asker: () => this.#asker,
      timeoutMs: options.startMs,
      onList: (kind, items) => options.onList?.(kind, items),
    })
    this.lost = new Promise((resolve) => {
      options.output.once('close', () => {
        this.#watch.close()
        this.#others.close()
        this.#listening?.close()
        this.#wishes?.close()
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
    if (era === 'modern') {
      this.#asker = modernAsker(this.#peer, version)
      this.#wishes = new StandingWishes(this.#asker)
    }
    if (capabilities.tools) await this.#watch.first(Math.max(1, deadline - performance.now()))
    else onTools(NO_TOOLS)
    this.#follow(this.greeting)
  }

  /** What it offers besides tools is asked for when it is ready, and what changes is listened to. */
  #follow({ era, capabilities }: Greeting): void {
    if (this.#options.onList) this.#others.begin(capabilities)
    const announced = announcedBy(capabilities)
    if (era !== 'modern' || !announced) return
    const mayHaveChanged = () => {
      if (capabilities.tools) this.#watch.changed()
      this.#others.changed()
    }
    this.#listening = new Listening(this.#asker, mayHaveChanged, announced)
  }

  /** The result as the server sent it, also when it says `isError`. Rejects with a CallFailure. */
  call(tool: string, args: unknown, options: TimedCallOptions): Promise<CallResult> {
    const { rawArguments, meta, modernParams: modern } = options
    if (!rawArguments) return this.relay('tools/call', { name: tool, arguments: args, _meta: meta }, options)
    const spliced = {
      ...options,
      modernParams: modern && { ...modern, arguments: undefined },
    }
    return this.relay('tools/call', { name: tool, _meta: meta }, spliced)
  }

  /** Any request, and its result as the server sent it. Rejects with a CallFailure. */
  relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    const { modernParams: modern } = options
    return modern
      ? this.#relayModern(method, params, options, modern)
      : this.#relayLegacy(method, params, options)
  }

  async #relayModern(method: string, params: unknown, options: TimedCallOptions, modern: Definition) {
    if (await this.#speaksModern()) return this.#peer.requestRaw(method, modern, options)
    refuseState(modern)
    return this.#relayLegacy(method, params, options)
  }

  #relayLegacy(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    if (this.#wishes) {
      const done = this.#wishes.take(method, params)
      return done
        ? Promise.resolve(done)
        : requestComplete(this.#asker, method, this.#wishes.with(params), options)
    }
    return this.#asker.requestRaw(method, params, options)
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
