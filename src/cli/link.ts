import { Agent, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

interface Deps {
  /** The current address of the gateway; undefined while none is running. */
  readonly find: () => string | undefined
  readonly key: string
}

export interface Sending {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
  /** How long to wait for an unavailable Toolroom, as a time of the monotonic clock. */
  readonly until: number
  /** Called when the request is written, so that the next one keeps its order. */
  readonly onSent?: () => void
}

/** Toolroom could not be reached in time. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}
/** The connection failed before anything was sent. */
class NotSent extends Error {
  override readonly name = 'NotSent'
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000
export const nextWait = (ms: number): number => Math.min(ms === 0 ? FIRST_WAIT_MS : ms * 2, LONGEST_WAIT_MS)

/** The HTTP connection to the gateway. Retries until it can connect, but never repeats a request that was sent. */
export class Link {
  readonly #deps: Deps
  readonly #agent = new Agent({ keepAlive: true })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async send(sending: Sending): Promise<IncomingMessage> {
    const { signal, until } = sending
    for (let waitMs = nextWait(0); ; waitMs = nextWait(waitMs)) {
      const url = this.#deps.find()
      try {
        if (url !== undefined) return await this.#request(url, sending)
      } catch (error) {
        if (!(error instanceof NotSent)) throw error
      }
      const leftMs = until - performance.now()
      if (leftMs <= 0) throw new Unavailable()
      await sleep(Math.min(waitMs, leftMs), undefined, { signal })
    }
  }

  #request(url: string, { method, headers, body, signal, onSent }: Sending): Promise<IncomingMessage> {
    const isTls = url.startsWith('https:')
    const own = { authorization: `Bearer ${this.#deps.key}`, ...(body && { 'content-length': body.length }) }
    const options = { method, headers: { ...headers, ...own }, signal, ...(!isTls && { agent: this.#agent }) }
    return new Promise((resolve, reject) => {
      const request = (isTls ? tlsRequest : plainRequest)(url, options)
      let connected = false
      request.on('socket', (socket) => {
        if (!socket.connecting) connected = true
        else socket.once('connect', () => (connected = true))
      })
      request.on('response', resolve)
      request.on('finish', () => onSent?.())
      request.on('error', (cause) => reject(connected || signal.aborted ? cause : new NotSent('', { cause })))
      request.end(body)
    })
  }
}
