import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { createGate } from './host-origin-gate.ts'
import { createListener, type DirectRoute, type Listener, refuse } from './listener.ts'
import type { Refusal, Upgrade } from './websocket.ts'

interface Options {
  readonly allowedHosts: readonly string[]
  /** The gateway, which answers as soon as the service is listening. */
  readonly gateway?: DirectRoute
  /** False: node:http reads every request. By default, plain requests for the gateway are read without it. */
  readonly readsPlain?: boolean | undefined
}

/** After this time, requests in flight no longer delay the service's shutdown. */
const CLOSE_GRACE_MS = 4_000

/**
 * The HTTP server. It listens before the REST API is built: agents need only the gateway, and other requests wait until
 * the API is ready.
 */
export class EarlyListener {
  readonly #listener: Listener
  readonly #waiting: (() => void)[] = []
  #handler: RequestListener | undefined
  #upgrade: Upgrade | undefined
  #onWaiting = () => {}
  /** Resolves when the first request waits for the API. */
  readonly requested = new Promise<void>((resolve) => {
    this.#onWaiting = resolve
  })

  constructor({ allowedHosts, gateway, readsPlain = true }: Options) {
    const gate = createGate({ port: () => this.port, allowedHosts })
    this.#listener = createListener(
      (request, response) => this.#answer(request, response),
      gate,
      (request, socket, head) => this.#onUpgrade(request, socket, head),
      gateway,
      readsPlain,
    )
  }

  get server(): Server {
    return this.#listener.server
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0
  }

  /** Rejects with the system's error. */
  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject)
        resolve()
      })
    })
  }

  address(host: string): string {
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  /** Sets the handlers, and answers the requests that are waiting for them. */
  serve(handler: RequestListener, upgrade: Upgrade): void {
    this.#handler = handler
    this.#upgrade = upgrade
    for (const answer of this.#waiting.splice(0)) answer()
  }

  close(): Promise<void> {
    if (!this.server.listening) return Promise.resolve()
    const cut = setTimeout(() => this.#listener.closeAllConnections(), CLOSE_GRACE_MS)
    return new Promise((resolve) => {
      this.server.close(() => {
        clearTimeout(cut)
        resolve()
      })
      this.#listener.closeIdleConnections()
    })
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#handler) this.#handler(request, response)
    else this.#wait(() => this.#handler?.(request, response))
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Refusal | undefined {
    if (this.#upgrade) return this.#upgrade(request, socket, head)
    this.#wait(() => {
      refuse(socket, this.#upgrade?.(request, socket, head))
    })
    return undefined
  }

  #wait(answer: () => void): void {
    this.#waiting.push(answer)
    this.#onWaiting()
  }
}
