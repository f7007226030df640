import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { Socket } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import type { Authorizer } from './authorizer.ts'
import { isBlockedHost } from './blocked-address.ts'
import { ConnectionPool, type Network, type Route } from './connection-pool.ts'
import { RemoteFailure, timeoutFailure } from './http-failure.ts'
import { anyOriginTarget, HttpResponse, sameOriginTarget } from './http-response.ts'
import {
  blocked,
  CONNECT_MS,
  networkFailure,
  type Phase,
  PROXY_STATUSES,
  proxyRefusal,
} from './network-failure.ts'
import { type HttpProxy, requestToProxy } from './proxy.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: URL
  /** These override configured headers of the same name. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Until the last byte of the body; null when only `signal` ends the request. */
  readonly timeoutMs: number | null
  /** Until the response headers; null when only `timeoutMs` limits them. */
  readonly firstByteMs?: number | null
  readonly signal?: AbortSignal | undefined
  /** The request may be sent twice: it is repeated when a reused connection turns out to be closed. */
  readonly repeatable?: boolean
  /** Called when the connection is open. Nothing is sent by a request that fails before that. */
  readonly onConnected?: () => void
  /** Called when the whole request is written. */
  readonly onSent?: () => void
}

/** The last step that succeeded. There is no `dns` through a proxy, which resolves the name. */
export type Reached = 'dns' | 'tcp' | 'tls' | 'http'

interface Options {
  /** Configured headers are sent to the origin of this URL only. */
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** The Authorization header for a URL on this origin. */
  readonly authorizationFor?: (url: URL) => string | undefined
  /** Provides the Authorization header of requests to this origin, and learns of refusals. */
  readonly authorizer?: Authorizer | undefined
  readonly userAgent: string
  readonly network?: Partial<Network> | undefined
  /** Follow redirects to other origins too. Otherwise no other origin is requested. */
  readonly crossOrigin?: boolean
  readonly onReached?: ((what: Reached) => void) | undefined
}

const FIRST_BYTE_MS = 10_000
const MAX_REDIRECTS = 3
/** Detects a peer that disappeared while a stream is silent for hours. */
const TCP_KEEP_ALIVE_MS = 30_000

/** Requests with redirects, proxies, deadlines and reused connections. Rejects with a RemoteFailure, or with the signal's reason. */
export class HttpClient {
  readonly #options: Options
  readonly #pool: ConnectionPool
  readonly #headers: Readonly<Record<string, string>>
  readonly #live = new Set<ClientRequest>()
  readonly #permitted = new Set<string>()
  #closed: Error | undefined

  constructor(options: Options) {
    this.#options = options
    this.#pool = new ConnectionPool(options.network ?? {}, () => options.onReached?.('dns'))
    this.#headers = lowerCased(options.headers ?? {})
  }

  request(request: HttpRequest): Promise<HttpResponse> {
    const { authorizer } = this.#options
    return authorizer ? this.#authorized(request, authorizer) : this.#request(request)
  }

  /** A refused request is repeated once, when there is another token by then. */
  async #authorized(request: HttpRequest, authorizer: Authorizer): Promise<HttpResponse> {
    for (let isRepeated = false, hasNonce = false; ; ) {
      const { token } = authorizer.current
      const isDue = token !== undefined && Date.now() >= token.renewAt
      const authorization = isDue ? await authorizer.authorization() : token?.header
      const signer = authorizer.current.token?.signer
      const headers = {
        ...request.headers,
        ...(authorization !== undefined && { authorization }),
        ...(signer && { dpop: signer.proof(request.method, request.url) }),
      }
      const response = await this.#request({ ...request, headers })
      const { status } = response
      if (signer) signer.nonce = nonceOf(response) ?? signer.nonce
      if (status !== 401 && status !== 403) return response
      const challenge = response.headers['www-authenticate']
      if (signer && !hasNonce && challenge?.includes('use_dpop_nonce')) {
        hasNonce = true
        response.discard()
        continue
      }
      const isWorthIt = await authorizer.refused({ status, challenge, sent: authorization, isRepeated })
      if (!isWorthIt || isRepeated) return response
      response.discard()
      isRepeated = true
    }
  }

  async #request(request: HttpRequest): Promise<HttpResponse> {
    const deadline = request.timeoutMs === null ? null : performance.now() + request.timeoutMs
    let { url } = request
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      this.#permit(url)
      const hop = hops === 0 ? request : { ...request, url }
      const route = this.#pool.routeTo(url) ?? (await this.#pool.open(url))
      const response = await this.#hop(hop, route, deadline).catch((error: unknown) => {
        if (error instanceof StaleSocket) return this.#hop({ ...hop, repeatable: false }, route, deadline)
        throw error
      })
      if (response.status < 300 || response.status > 399) return response
      const next = this.#options.crossOrigin
        ? anyOriginTarget(response)
        : sameOriginTarget(request.method, response)
      if (next === undefined) return response
      response.discard()
      url = next
    }
    const hint = 'Set the URL to the address that the redirects lead to'
    throw new RemoteFailure('too_many_redirects', `${url.host} redirects too often`, hint)
  }

  /** Whether a connection to this origin is open, used or idle. */
  isConnectedTo(url: URL): boolean {
    return this.#pool.isConnectedTo(url)
  }

  /** Ends all requests and connections. Pending and later requests reject with `reason`. */
  close(reason = new Error('The HTTP client was closed')): void {
    this.#closed ??= reason
    for (const sent of this.#live) sent.destroy() // includes requests that are still waiting for a socket
    this.#pool.close()
  }

  #permit(url: URL): void {
    if (this.#closed) throw this.#closed
    if (this.#permitted.has(url.origin)) return
    const { url: own, crossOrigin, network } = this.#options
    if (!/^https?:$/.test(url.protocol) || (!crossOrigin && url.origin !== own.origin)) {
      const message = `Only http and https URLs on ${own.host || 'this server'} can be requested`
      throw new RemoteFailure('redirect_refused', message, 'Use an http or https URL')
    }
    if (!network?.linkLocal && isBlockedHost(url.hostname)) throw blocked(url.hostname)
    this.#permitted.add(url.origin)
  }

  /** One request and its response. The limits apply until the body has ended. */
  #hop(request: HttpRequest, route: Route, deadline: number | null): Promise<HttpResponse> {
    const { url, signal, timeoutMs, firstByteMs = FIRST_BYTE_MS } = request
    return new Promise((resolve, reject) => {
      if (this.#closed || signal?.aborted) return reject(this.#closed ?? signal?.reason)
      const { proxy } = route
      let phase: Phase = 'connect'
      let response: HttpResponse | undefined
      const explain = (error: unknown) => networkFailure(error, url, phase, proxy)
      const sent = this.#send(request, route)
      const fail = (error: unknown) => {
        limits.lift()
        reject(error)
      }
      const limits = new Limits(signal, (reason) => {
        fail(reason)
        if (response) response.end(reason)
        else sent.destroy()
      })
      const notConnected = () => explain({ code: 'ETIMEDOUT' })
      const timedOut = (ms: number | null) => () => {
        if (proxy && phase === 'connect') return notConnected() // names the proxy, not the server
        return timeoutFailure(url.host, phase === 'body' ? 'finish its response' : 'respond', ms ?? 0)
      }
      limits.after(deadline === null ? null : deadline - performance.now(), timedOut(timeoutMs))
      const connected = limits.after(CONNECT_MS, notConnected)
      const responded = limits.after(firstByteMs, timedOut(firstByteMs))

      const enter = (next: Phase) => {
        phase = next
        if (next !== 'send') return
        connected()
        request.onConnected?.()
      }
      sent.on('socket', (socket) => {
        if (sent.reusedSocket) enter('send')
        else this.#follow(socket, url, enter)
      })
      if (request.onSent) sent.on('finish', request.onSent)
      sent.on('error', (error) => {
        const stale = request.repeatable === true && sent.reusedSocket && phase === 'send' && isReset(error)
        fail(this.#closed ?? (stale ? new StaleSocket() : explain(error)))
      })
      // Node closes a protocol upgrade that was not requested, without an error.
      sent.on('close', () => response ?? fail(explain({ code: 'ECONNRESET' })))
      sent.on('response', (incoming: IncomingMessage) => {
        phase = 'body'
        responded()
        incoming.once('close', () => limits.lift())
        response = new HttpResponse(incoming, url)
        if (proxy && url.protocol === 'http:' && PROXY_STATUSES.includes(response.status)) {
          response.discard()
          return reject(proxyRefusal(response.status, url, proxy))
        }
        this.#options.onReached?.('http')
        resolve(response)
      })
    })
  }

  #send({ method, url, headers = {}, body }: HttpRequest, { agent, proxy, send }: Route): ClientRequest {
    const target: RequestOptions =
      proxy && url.protocol === 'http:' ? forwarded(url, proxy) : urlToHttpOptions(url)
    const all = {
      ...this.#headersFor(url),
      ...lowerCased(headers),
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      ...target.headers,
    }
    try {
      const sent = send({ ...target, method, agent, headers: all })
      this.#live.add(sent)
      sent.once('close', () => this.#live.delete(sent))
      sent.end(body)
      return sent
    } catch (error) {
      throw networkFailure(error, url, 'send') // a header that Node does not accept
    }
  }

  #headersFor(url: URL): Record<string, string> {
    const { url: own, userAgent, authorizationFor } = this.#options
    const common = { 'user-agent': userAgent, 'accept-encoding': 'gzip, deflate, br' }
    if (url.origin !== own.origin) return common
    const authorization = authorizationFor?.(url)
    return { ...common, ...this.#headers, ...(authorization !== undefined && { authorization }) }
  }

  #follow(socket: Socket, url: URL, enter: (phase: Phase) => void): void {
    const { onReached } = this.#options
    const onConnected = () => {
      onReached?.('tcp')
      enter('encrypted' in socket ? 'tls' : 'send')
    }
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    if (socket.connecting) socket.once('connect', onConnected)
    else onConnected() // a tunnel's socket
    socket.once('secureConnect', () => {
      if (url.protocol === 'https:') onReached?.('tls') // otherwise it is the proxy's TLS
      enter('send')
    })
  }
}

class StaleSocket extends Error {}

function nonceOf({ headers }: HttpResponse): string | undefined {
  return [headers['dpop-nonce']].flat()[0]
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE'
}

/** A plain http request that the proxy forwards: sent to the proxy, with the full URL as its path. */
function forwarded(url: URL, proxy: HttpProxy): RequestOptions {
  const { auth } = urlToHttpOptions(url)
  return { ...requestToProxy(proxy, url.host), auth, path: `${url.origin}${url.pathname}${url.search}` }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Deadlines and the abort signal of one request. `onEnd` is called when one of them ends it. */
class Limits {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: (reason: Error) => void

  constructor(signal: AbortSignal | undefined, onEnd: (reason: Error) => void) {
    this.#signal = signal
    this.#onEnd = onEnd
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Ends the request after `ms`, unless the returned function is called first. Null: no deadline. */
  after(ms: number | null, failure: () => Error): () => void {
    if (ms === null) return () => {}
    const timer = setTimeout(() => this.#onEnd(failure()), Math.max(0, ms))
    this.#timers.add(timer)
    return () => clearTimeout(timer)
  }

  lift(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = () => this.#onEnd(this.#signal?.reason)
}
