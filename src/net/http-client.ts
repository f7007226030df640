import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { CallFailure } from '../protocol/call.ts'
import { isBlockedHost } from './blocked-address.ts'
import { agentFor, type Network } from './connection-pool.ts'
import { late, RemoteFailure } from './http-failure.ts'
import { HttpAnswer } from './http-response.ts'
import { blocked, connectTimeout, networkFailure, type Phase } from './network-failure.ts'
import { redirected } from './redirect.ts'
import { Limits } from './request-limits.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  /** Those of the protocol. They win over configured ones of the same name. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** For all of it, to the last byte; null where the caller ends it by `signal`. */
  readonly timeoutMs: number | null
  /** For the head of the answer; null where that may take as long as all of it. */
  readonly firstByteMs?: number | null
  readonly signal?: AbortSignal | undefined
  /** The same again does no harm, should a kept connection turn out to be closed. */
  readonly repeatable?: boolean
}

/** What has been reached. */
export type Reached = 'dns' | 'tcp' | 'tls' | 'http'

interface Options {
  /** Configured headers go to the origin of this URL and nowhere else. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly userAgent: string
  readonly network?: Partial<Network> | undefined
  readonly onReached?: ((what: Reached) => void) | undefined
}

const CONNECT_MS = 10_000
const FIRST_BYTE_MS = 10_000
const MAX_REDIRECTS = 3
/** A stream that is silent for hours: the system asks whether the other side is still there. */
const TCP_KEEP_ALIVE_MS = 30_000

/** Asks one origin. Rejects with a RemoteFailure, or with the reason of the caller's signal. */
export class HttpClient {
  readonly #options: Options
  readonly #agent: ReturnType<typeof agentFor>
  readonly #headers: Readonly<Record<string, string>>
  readonly #live = new Set<ClientRequest>()
  #closed = false

  constructor(options: Options) {
    this.#options = options
    this.#agent = agentFor(options.url, options.network ?? {}, () => options.onReached?.('dns'))
    const own = { 'user-agent': options.userAgent, 'accept-encoding': 'gzip, deflate, br' }
    this.#headers = { ...own, ...lowerCased(options.headers) }
  }

  async request(request: HttpRequest): Promise<HttpAnswer> {
    const deadline = request.timeoutMs === null ? null : performance.now() + request.timeoutMs
    let { url } = request
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      this.#permit(url)
      const hop = { ...request, url }
      const answer = await this.#hop(hop, deadline).catch((error: unknown) => {
        if (error instanceof StaleSocket) return this.#hop({ ...hop, repeatable: false }, deadline)
        throw error
      })
      const next = redirected(request.method, url, answer)
      if (next === undefined) return answer
      answer.discard()
      url = next
    }
    const hint = 'Write the address at which the redirects end into the URL'
    throw new RemoteFailure('too_many_redirects', `${url.host} redirects again and again`, hint)
  }

  /** Whatever is still open ends now. */
  close(): void {
    this.#closed = true
    this.#agent.maxFreeSockets = 0 // a socket that comes for a request which is gone would be kept
    for (const sent of this.#live) sent.destroy() // those that wait for a socket are not among the agent's
    this.#agent.destroy()
  }

  #permit(url: URL): void {
    if (this.#closed) throw closed()
    if (url.origin !== this.#options.url.origin || !/^https?:$/.test(url.protocol)) {
      const message = `Toolroom asks ${this.#options.url.host || 'this server'} by http and https, and nobody else`
      throw new RemoteFailure('redirect_refused', message, 'Write an http or https address into the URL')
    }
    if (isBlockedHost(url.hostname)) throw blocked(url.hostname)
  }

  /** One request, one answer. The limits hold until the body has ended. */
  #hop(request: HttpRequest, deadline: number | null): Promise<HttpAnswer> {
    const { url, signal, timeoutMs, firstByteMs = FIRST_BYTE_MS } = request
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      let phase: Phase = 'connect'
      let answer: HttpAnswer | undefined
      const sent = this.#send(request)
      const fail = (error: unknown) => {
        limits.lift()
        reject(error)
      }
      const limits = new Limits(signal, (reason) => {
        fail(reason)
        if (answer) answer.end(reason)
        else sent.destroy()
      })
      const what = () => (phase === 'body' ? 'finish its answer' : 'answer')
      limits.after(deadline === null ? null : deadline - performance.now(), () =>
        late(url.host, what(), timeoutMs ?? 0),
      )
      const connected = limits.after(CONNECT_MS, () => connectTimeout(url))
      const answered = limits.after(firstByteMs, () => late(url.host, 'answer', firstByteMs ?? 0))

      const enter = (next: Phase) => {
        phase = next
        if (next === 'send') connected()
      }
      sent.on('socket', (socket) => {
        if (sent.reusedSocket) enter('send')
        else this.#follow(socket, url, enter)
      })
      sent.on('error', (error) => {
        const stale = request.repeatable === true && sent.reusedSocket && phase === 'send' && isReset(error)
        if (this.#closed) fail(closed())
        else fail(stale ? new StaleSocket() : networkFailure(error, url, phase))
      })
      // An answer that asks for another protocol is closed by Node without a word.
      sent.on('close', () => answer ?? fail(networkFailure({ code: 'ECONNRESET' }, url, phase)))
      sent.on('response', (response: IncomingMessage) => {
        phase = 'body'
        answered()
        this.#options.onReached?.('http')
        response.once('close', () => limits.lift())
        answer = new HttpAnswer(response, url)
        resolve(answer)
      })
    })
  }

  #send({ method, url, headers = {}, body }: HttpRequest): ClientRequest {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const all = { ...this.#headers, ...lowerCased(headers), ...length }
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    try {
      const sent = send(url, { method, agent: this.#agent, headers: all })
      this.#live.add(sent)
      sent.once('close', () => this.#live.delete(sent))
      sent.end(body)
      return sent
    } catch (error) {
      throw networkFailure(error, url, 'connect') // a header that Node does not take
    }
  }

  #follow(socket: Socket, url: URL, enter: (phase: Phase) => void): void {
    const { onReached } = this.#options
    const secure = url.protocol === 'https:'
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    socket.once('connect', () => {
      onReached?.('tcp')
      enter(secure ? 'tls' : 'send')
    })
    socket.once('secureConnect', () => {
      onReached?.('tls')
      enter('send')
    })
  }
}

class StaleSocket extends Error {}

const closed = () => new CallFailure('closed', 'The connection was closed')

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE'
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
