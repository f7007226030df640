import { isObject } from '../../../kernel/is-object.ts'
import { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { secretsIn } from '../../../kernel/secrets/secrets.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { HttpClient, type Reached } from '../../../net/http-client.ts'
import type { TimedCallOptions } from '../../../protocol/call.ts'
import { CallFailure, type CallResult } from '../../../protocol/call.ts'
import type { Definition } from '../../../upstreams/catalogues.ts'
import { announcedBy, Listening } from '../../client/change-subscription.ts'
import type { Greeting } from '../../client/greeting.ts'
import { requestComplete } from '../../client/input-required.ts'
import { StandingWishes } from '../../client/legacy-subscriptions.ts'
import { noteTo } from '../../client/notification-router.ts'
import { type ListKind, OtherLists } from '../../client/other-lists.ts'
import { isUnknownMethod, listTools, NO_TOOLS, type ToolList } from '../../client/tool-list.ts'
import { ToolWatch } from '../../client/tool-watch.ts'
import { refuseState } from '../../client/unknown-request-state.ts'
import { explainRemote } from './explain-connect-failure.ts'
import { greetRemote, type Known } from './negotiate.ts'
import type { Carrier, Transport } from './transport.ts'

export interface RemoteOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly transport: 'auto' | Transport
  /** Toolroom's own, for the greeting. */
  readonly version: string
  /** How the server spoke the last time, which saves it the question of the other ways. */
  readonly known?: Known | null
  readonly onTools: (list: ToolList) => void
  /** Its prompts, resources or templates, as soon as it has said them. Not asked for where nobody wants to know. */
  readonly onList?: (kind: ListKind, items: readonly Definition[]) => void
  /** What a server says for people over the protocol. */
  readonly onSaid?: (text: string) => void
  /** Everything else that it says unasked. */
  readonly onNote?: (method: string, params: unknown) => void
  /** The server has begun anew, or may have: what it was asked to tell it tells no longer. */
  readonly onAnew?: () => void
  /** The conversation is over, and not by `close`. A new one needs a new connection. */
  readonly onLost?: (reason: string) => void
  readonly onReached?: (what: Reached | 'initialize') => void
  readonly network?: Partial<Network>
}

const LIST_MS = 30_000
const GOODBYE_MS = 1000

/** A conversation with one HTTP server, from the greeting to `close`. For one use: after a failure, make another. */
export class RemoteConnection {
  readonly #options: RemoteOptions
  readonly #url: URL
  readonly #client: HttpClient
  readonly #secrets = new KnownSecrets()
  readonly #watch: ToolWatch
  readonly #others: OtherLists
  #listening: Listening | undefined
  #wishes: StandingWishes | undefined
  #carrier: Carrier | undefined
  #closing: Promise<void> | undefined
  greeting: Greeting | undefined

  /** Throws when the URL is none. */
  constructor(options: RemoteOptions) {
    const { url, headers, version, network, onReached } = options
    this.#options = options
    this.#url = new URL(url)
    this.#secrets.set('server', secretsIn({ url, headers }))
    const userAgent = `toolroom/${version}`
    this.#client = new HttpClient({ url: this.#url, headers, userAgent, network, onReached })
    this.#watch = new ToolWatch({
      list: (timeoutMs) => this.#list(timeoutMs),
      timeoutMs: LIST_MS,
      onTools: (list) => this.#heardOf(list),
    })
    this.#others = new OtherLists({
      asker: () => this.#open().asker,
      timeoutMs: LIST_MS,
      onList: (kind, items) => options.onList?.(kind, items),
    })
  }

  /** The one in use. */
  get transport(): Transport | undefined {
    return this.#carrier?.transport
  }

  /** Connected is: greeted, and the tools are known. Rejects with a RemoteFailure, and has closed itself then. */
  async connect(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    try {
      await this.#greet(timeoutMs)
      await this.#firstTools(Math.max(1, deadline - performance.now()))
    } catch (error) {
      const step = this.greeting === undefined ? 'initialize' : 'tools/list'
      await this.close(Math.min(GOODBYE_MS, Math.max(0, deadline - performance.now())))
      throw explainRemote(error, { host: this.#url.host, step, timeoutMs, secrets: this.#secrets })
    }
  }

  /** The result as the server sent it, also when it says `isError`. Rejects with a CallFailure or a RemoteFailure. */
  async call(tool: string, args: unknown, options: TimedCallOptions): Promise<CallResult> {
    return this.relay('tools/call', { name: tool, arguments: args, _meta: options.meta }, options)
  }

  /** Any request, and its result as the server sent it. Rejects with a CallFailure or a RemoteFailure. */
  async relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult> {
    const { asker, plain } = this.#open()
    if (this.#wishes) {
      if (options.modernParams) return plain.requestRaw(method, options.modernParams, options)
      const done = this.#wishes.take(method, params)
      return done ?? requestComplete(asker, method, this.#wishes.with(params), options)
    }
    refuseState(options.modernParams)
    // What it asks may come over the stream that belongs to no request.
    if (options.onServerRequest) await this.#open().listen()
    return asker.requestRaw(method, params, options)
  }

  /** Asks for the tools again, which also shows whether the server is there. One without tools is asked another thing. */
  async refresh(timeoutMs: number): Promise<{ readonly latency_ms: number }> {
    const startedAt = performance.now()
    if (this.#hasTools()) this.#heardOf(await this.#list(timeoutMs))
    else await this.#open().asker.request(this.#lifeSign(), {}, { timeoutMs })
    return { latency_ms: performance.now() - startedAt }
  }

  /** Nothing is open when it is done, which takes no longer than `timeoutMs`. Never rejects. */
  close(timeoutMs = GOODBYE_MS): Promise<void> {
    this.#closing ??= this.#close(timeoutMs)
    return this.#closing
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#leave()
    await this.#carrier?.close(timeoutMs)
    this.#client.close(new CallFailure('closed', 'The connection was closed'))
  }

  async #greet(timeoutMs: number): Promise<void> {
    const { version, transport, known = null, onReached, onLost, onSaid, onNote } = this.#options
    const found = await greetRemote(
      {
        client: this.#client,
        url: this.#url,
        version,
        secrets: this.#secrets,
        transport,
        known,
        onChanged: () => {
          this.#mayHaveChanged()
          this.#options.onAnew?.()
        },
        onNotification: noteTo({
          onToolsChanged: () => this.#watch.changed(),
          onSaid,
          onNote: (method, params) => {
            this.#others.heard(method)
            onNote?.(method, params)
          },
        }),
        onLost: (reason) => {
          if (this.#carrier === undefined) return // another way is tried, or the greeting fails
          this.#leave()
          onLost?.(reason)
        },
      },
      timeoutMs,
    )
    this.#carrier = found.carrier
    this.greeting = found.greeting
    onReached?.('initialize')
  }

  async #firstTools(timeoutMs: number): Promise<void> {
    if (this.#hasTools()) await this.#watch.first(timeoutMs)
    else this.#options.onTools(NO_TOOLS)
    this.#follow(this.#open())
  }

  /** What it offers besides tools is asked for when it is connected, and what changes is listened to. */
  #follow(carrier: Carrier): void {
    const { era, capabilities = {} } = this.greeting ?? {}
    if (this.#options.onList) this.#others.begin(capabilities)
    if (era === 'legacy' && saysThingsUnasked(capabilities)) void carrier.listen()
    if (era !== 'modern') return
    this.#wishes = new StandingWishes(carrier.asker)
    const announced = announcedBy(capabilities)
    if (announced) this.#listening = new Listening(carrier.asker, () => this.#mayHaveChanged(), announced)
  }

  #mayHaveChanged(): void {
    if (this.#hasTools()) this.#watch.changed()
    this.#others.changed()
  }

  /** Nothing is asked by itself any more. */
  #leave(): void {
    this.#watch.close()
    this.#others.close()
    this.#listening?.close()
    this.#wishes?.close()
  }

  async #list(timeoutMs: number): Promise<ToolList> {
    try {
      return await listTools(this.#open().asker, timeoutMs)
    } catch (error) {
      if (isUnknownMethod(error)) return NO_TOOLS
      throw error
    }
  }

  #heardOf(list: ToolList): void {
    this.#carrier?.knows(list)
    this.#options.onTools(list)
  }

  #hasTools(): boolean {
    return Boolean(this.greeting?.capabilities.tools)
  }

  #lifeSign(): string {
    return this.greeting?.era === 'modern' ? 'server/discover' : 'ping'
  }

  #open(): Carrier {
    if (this.#carrier === undefined || this.#closing !== undefined) {
      throw new CallFailure('closed', 'The connection is not open')
    }
    return this.#carrier
  }
}

/** Whether it is worth a connection of its own to hear what a server says unasked. */
function saysThingsUnasked({ tools, prompts, resources, logging }: Greeting['capabilities']): boolean {
  const changes = [tools, prompts, resources].some((each) => isObject(each) && each.listChanged === true)
  return changes || isObject(logging) || (isObject(resources) && resources.subscribe === true)
}
