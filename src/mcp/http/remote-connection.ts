import { KnownSecrets } from '../../kernel/known-secrets.ts'
import { secretsIn } from '../../kernel/secrets.ts'
import type { CallOptions } from '../connection.ts'
import { type CallResult, RequestError } from '../dialogue.ts'
import type { Greeting } from '../greeting.ts'
import { isObject } from '../message.ts'
import { isUnknownMethod, listTools, NO_TOOLS, type ToolList } from '../tool-list.ts'
import { ToolWatch } from '../tool-watch.ts'
import type { Carrier, Transport } from './carrier.ts'
import { explainRemote } from './explain-remote.ts'
import { HttpClient, type Reached } from './http-client.ts'
import type { Network } from './network.ts'
import { greetRemote, type Known } from './remote-greeting.ts'

export interface RemoteOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly transport: 'auto' | Transport
  /** Toolroom's own, for the greeting. */
  readonly version: string
  /** How the server spoke the last time, which saves it the question of the other ways. */
  readonly known?: Known | null
  readonly onTools: (list: ToolList) => void
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

  /** The result as the server sent it, also when it says `isError`. Rejects with a RequestError or a RemoteFailure. */
  async call(tool: string, args: unknown, options: CallOptions): Promise<CallResult> {
    const { timeoutMs, signal, meta, onProgress } = options
    const params = { name: tool, arguments: args, _meta: meta }
    return this.#asker().requestRaw('tools/call', params, { timeoutMs, signal, onProgress })
  }

  async relay(method: string, params: unknown, { timeoutMs, signal }: CallOptions): Promise<CallResult> {
    return this.#asker().requestRaw(method, params, { timeoutMs, signal })
  }

  /** Asks for the tools again, which also shows whether the server is there. One without tools is asked another thing. */
  async refresh(timeoutMs: number): Promise<{ readonly latency_ms: number }> {
    const startedAt = performance.now()
    if (this.#hasTools()) this.#heardOf(await this.#list(timeoutMs))
    else await this.#asker().request(this.#lifeSign(), {}, { timeoutMs })
    return { latency_ms: performance.now() - startedAt }
  }

  /** Nothing is open when it is done, which takes no longer than `timeoutMs`. Never rejects. */
  close(timeoutMs = GOODBYE_MS): Promise<void> {
    this.#closing ??= this.#close(timeoutMs)
    return this.#closing
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#watch.close()
    await this.#carrier?.close(timeoutMs)
    this.#client.close()
  }

  async #greet(timeoutMs: number): Promise<void> {
    const { version, transport, known = null, onReached, onLost } = this.#options
    const found = await greetRemote(
      {
        client: this.#client,
        url: this.#url,
        version,
        secrets: this.#secrets,
        transport,
        known,
        onChanged: () => this.#watch.changed(),
        onLost: (reason) => {
          if (this.#carrier === undefined) return // another way is tried, or the greeting fails
          this.#watch.close()
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
    if (!this.#hasTools()) {
      this.#options.onTools(NO_TOOLS)
      return
    }
    await this.#watch.first(timeoutMs)
    const tools = this.greeting?.capabilities.tools
    if (isObject(tools) && tools.listChanged === true) this.#carrier?.listen()
  }

  async #list(timeoutMs: number): Promise<ToolList> {
    try {
      return await listTools(this.#asker(), timeoutMs)
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

  #asker(): Carrier['asker'] {
    if (this.#carrier === undefined || this.#closing !== undefined) {
      throw new RequestError('closed', 'The connection is not open')
    }
    return this.#carrier.asker
  }
}
