import { Agent, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

interface Deps {
  /** Where the gateway is now; undefined while none runs. */
  readonly find: () => string | undefined
  readonly key: string
}

export interface Sending {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
  /** Until when to wait for a Toolroom that is away, by the monotonic clock. */
  readonly until: number
  /** It is on its way: what is said next comes after it. */
  readonly onSent?: () => void
}

/** Nobody has answered for too long. */
export class Away extends Error {
  override readonly name = 'Away'
}
/** Nothing of the request has reached anybody. */
class NotSent extends Error {
  override readonly name = 'NotSent'
}

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 2000
export const nextWait = (ms: number): number => Math.min(ms === 0 ? FIRST_WAIT_MS : ms * 2, LONGEST_WAIT_MS)

/** The way to the gateway. Waits while nobody is there; what was sent and then broke off is for the caller to judge. */
export class Link {
  readonly #deps: Deps
  readonly #agent = new Agent({ keepAlive: true })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async reach(sending: Sending): Promise<IncomingMessage> {
    const { signal, until } = sending
    for (let waitMs = nextWait(0); ; waitMs = nextWait(waitMs)) {
      const url = this.#deps.find()
      try {
        if (url !== undefined) return await this.#send(url, sending)
      } catch (error) {
        if (!(error instanceof NotSent)) throw error
      }
      const leftMs = until - performance.now()
      if (leftMs <= 0) throw new Away()
      await sleep(Math.min(waitMs, leftMs), undefined, { signal })
    }
  }

  #send(url: string, { method, headers, body, signal, onSent }: Sending): Promise<IncomingMessage> {
    const isTls = url.startsWith('https:')
    const own = { authorization: `Bearer ${this.#deps.key}`, ...(body && { 'content-length': body.length }) }
    const options = { method, headers: { ...headers, ...own }, signal, ...(!isTls && { agent: this.#agent }) }
    return new Promise((resolve, reject) => {
      const sent = (isTls ? tlsRequest : plainRequest)(url, options)
      let connected = false
      sent.on('socket', (socket) => {
        if (!socket.connecting) connected = true
        else socket.once('connect', () => (connected = true))
      })
      sent.on('response', resolve)
      sent.on('finish', () => onSent?.())
      sent.on('error', (cause) => reject(connected || signal.aborted ? cause : new NotSent('', { cause })))
      sent.end(body)
    })
  }
}
