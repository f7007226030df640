import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AppError } from '../kernel/errors.ts'
import { createGate } from './gate.ts'
import { createListener, type OwnDoor, writeProblem } from './listener.ts'
import type { Upgrade } from './websocket.ts'

interface Options {
  readonly allowedHosts: readonly string[]
  /** The gateway, which is open as soon as somebody can come. */
  readonly ownDoor?: OwnDoor
}

/** Requests in flight are finished, but nobody may hold the service open. */
const CLOSE_GRACE_MS = 4_000

/**
 * Where everybody comes in. It stands before the app does: agents need only the gateway, and whoever wants something else in
 * the moment until the app is built waits that moment.
 */
export class Front {
  readonly server: Server
  readonly #early: (() => void)[] = []
  #handler: RequestListener | undefined
  #upgrade: Upgrade | undefined
  #wanted = () => {}

  constructor({ allowedHosts, ownDoor }: Options) {
    const gate = createGate({ port: () => this.port, allowedHosts })
    this.server = createListener(
      (request, response) => this.#answer(request, response),
      gate,
      (request, socket, head) => this.#upgraded(request, socket, head),
      ownDoor,
    )
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0
  }

  /** Rejects as the system refuses. */
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

  /** From now on these answer, also to whoever waits. */
  serve(handler: RequestListener, upgrade: Upgrade): void {
    this.#handler = handler
    this.#upgrade = upgrade
    for (const answer of this.#early.splice(0)) answer()
  }

  /** Waits until somebody wants more than the gateway has, but not longer than this. */
  untilWanted(ms: number): Promise<void> {
    if (this.#early.length > 0) return Promise.resolve()
    return new Promise((resolve) => {
      const late = setTimeout(resolve, ms)
      this.#wanted = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }

  close(): Promise<void> {
    if (!this.server.listening) return Promise.resolve()
    const cut = setTimeout(() => this.server.closeAllConnections(), CLOSE_GRACE_MS)
    return new Promise((resolve) => {
      this.server.close(() => {
        clearTimeout(cut)
        resolve()
      })
      this.server.closeIdleConnections()
    })
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.#handler) this.#handler(request, response)
    else this.#wait(() => this.#handler?.(request, response))
  }

  #upgraded(request: IncomingMessage, socket: Duplex, head: Buffer): AppError | undefined {
    if (this.#upgrade) return this.#upgrade(request, socket, head)
    this.#wait(() => {
      const refusal = this.#upgrade?.(request, socket, head)
      if (refusal) writeProblem(socket, refusal)
    })
    return undefined
  }

  #wait(answer: () => void): void {
    this.#early.push(answer)
    this.#wanted()
  }
}
