import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from '../../kernel/version.ts'
import type { Network } from '../../net/connection-pool.ts'
import { HttpClient } from '../../net/http-client.ts'
import { RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'

interface Deps {
  /** The current address of the gateway; undefined while none is running. */
  readonly find: () => string | undefined
  /** Starts the service if it is not running. Resolves with a sentence if that is not possible. */
  readonly start?: (() => Promise<string | undefined>) | undefined
  readonly key: string
  readonly network?: Partial<Network>
}

export interface Sending {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
  /** How long to wait for an unavailable Toolroom, as a time on the monotonic clock. */
  readonly until: number
  /** The service is started for it if none is running. */
  readonly isStart?: boolean
  /** Called when the request is written, so that the next one keeps its order. */
  readonly onSent?: () => void
}

/** Toolroom could not be reached in time. The cause is the last failure; undefined if there is no address. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  override readonly cause: RemoteFailure | undefined
  /** Why it could not be started, as a sentence. */
  readonly refusal: string | undefined

  constructor(cause: RemoteFailure | undefined, refusal?: string) {
    super(refusal ?? cause?.message)
    this.cause = cause
    this.refusal = refusal
  }
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000
const STARTING_POLL_MS = 50
const REFUSAL_MS = 10_000
export const nextWait = (ms: number): number => Math.min(ms === 0 ? FIRST_WAIT_MS : ms * 2, LONGEST_WAIT_MS)

/** The HTTP connection to the gateway. Retries until it can connect, but never repeats a request that was sent. */
export class Link {
  readonly #deps: Deps
  #starting: Promise<void> | undefined
  /** Why the service could not be started a moment ago. */
  #refusal: string | undefined
  #current: { readonly url: URL; readonly client: HttpClient } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async send({ signal, until, isStart = false, ...request }: Sending): Promise<HttpResponse> {
    let isTried = !isStart
    for (let waitMs = nextWait(0); ; waitMs = nextWait(waitMs)) {
      const url = this.#find()
      let failure: RemoteFailure | undefined
      if (url !== undefined) {
        let isConnected = false
        const onConnected = () => {
          isConnected = true
        }
        try {
          // A response may take hours: only the caller's signal ends the request.
          const own = { url, signal, onConnected, timeoutMs: null, firstByteMs: null, ...request }
          return await this.#clientFor(url).request(own)
        } catch (error) {
          if (isConnected || !(error instanceof RemoteFailure)) throw error
          failure = error
        }
      }
      if (!isTried) this.#start()
      isTried = true
      const leftMs = until - performance.now()
      const isGivenUp = this.#refusal !== undefined && leftMs < Number.POSITIVE_INFINITY
      if (leftMs <= 0 || isGivenUp) throw new Unavailable(failure, this.#refusal)
      const pauseMs = Math.min(this.#starting === undefined ? waitMs : STARTING_POLL_MS, leftMs)
      const pause = sleep(pauseMs, undefined, { signal })
      await Promise.race(this.#starting === undefined ? [pause] : [this.#starting, pause])
    }
  }

  /** Starts the service if none is found. Messages that wait to be sent before the one that needs it do not delay that. */
  wake(): void {
    if (this.#deps.start && this.#find() === undefined) this.#start()
  }

  /** Once for all messages. They share a refusal, also those of the next seconds. */
  #start(): void {
    if (this.#starting !== undefined || this.#refusal !== undefined) return
    this.#starting = this.#deps.start?.().then((refusal) => {
      this.#starting = undefined
      this.#refusal = refusal
      setTimeout(() => {
        this.#refusal = undefined
      }, REFUSAL_MS).unref()
    })
  }

  /** An open connection leads to the same process as before, so the address is not looked up again. */
  #find(): URL | undefined {
    const { url, client } = this.#current ?? {}
    if (url && client?.isConnectedTo(url)) return url
    const address = this.#deps.find()
    return address === undefined ? undefined : new URL(address)
  }

  /** A client sends the key to one origin only, and a restart may change the port. Its responses continue without it. */
  #clientFor(url: URL): HttpClient {
    if (this.#current?.url.origin !== url.origin) {
      const { key, network } = this.#deps
      const headers = { authorization: `Bearer ${key}` }
      const client = new HttpClient({ url, headers, userAgent: `toolroom/${VERSION}`, network })
      this.#current = { url, client }
    }
    return this.#current.client
  }
}
