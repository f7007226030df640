import { setTimeout as sleep } from 'node:timers/promises'
import { VERSION } from '../../kernel/version.ts'
import type { Network } from '../../net/connection-pool.ts'
import { HttpClient } from '../../net/http-client.ts'
import { RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'

interface Deps {
  /** The current address of the gateway; undefined while none is running. */
  readonly find: () => string | undefined
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
  /** Called when the request is written, so that the next one keeps its order. */
  readonly onSent?: () => void
}

/** Toolroom could not be reached in time. The cause is the last failure; undefined if there is no address. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  override readonly cause: RemoteFailure | undefined

  constructor(cause: RemoteFailure | undefined) {
    super(cause?.message)
    this.cause = cause
  }
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000
export const nextWait = (ms: number): number => Math.min(ms === 0 ? FIRST_WAIT_MS : ms * 2, LONGEST_WAIT_MS)

/** The HTTP connection to the gateway. Retries until it can connect, but never repeats a request that was sent. */
export class Link {
  readonly #deps: Deps
  #current: { readonly origin: string; readonly client: HttpClient } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async send({ signal, until, ...request }: Sending): Promise<HttpResponse> {
    for (let waitMs = nextWait(0); ; waitMs = nextWait(waitMs)) {
      const address = this.#deps.find()
      let failure: RemoteFailure | undefined
      if (address !== undefined) {
        const url = new URL(address)
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
      const leftMs = until - performance.now()
      if (leftMs <= 0) throw new Unavailable(failure)
      await sleep(Math.min(waitMs, leftMs), undefined, { signal })
    }
  }

  /** A client sends the key to one origin only, and a restart may change the port. Its responses continue without it. */
  #clientFor(url: URL): HttpClient {
    if (this.#current?.origin !== url.origin) {
      const { key, network } = this.#deps
      const headers = { authorization: `Bearer ${key}` }
      const client = new HttpClient({ url, headers, userAgent: `toolroom/${VERSION}`, network })
      this.#current = { origin: url.origin, client }
    }
    return this.#current.client
  }
}
