import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../kernel/json/json-checks.ts'
import { HttpClient, type HttpRequest } from '../http-client.ts'
import { RemoteFailure, retryAfter } from '../http-failure.ts'
import { AddressGuard, type GuardOptions } from './address-guard.ts'
import { OAuthFailure } from './oauth-failure.ts'

export interface OAuthResponse {
  readonly url: URL
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Undefined: the body is not a JSON object. */
  readonly json: Record<string, unknown> | undefined
}

interface Options extends GuardOptions {
  readonly version: string
  readonly limits?: Partial<Limits>
}

interface Limits {
  readonly eachMs: number
  /** From the first request on. */
  readonly allMs: number
}

type Content = Pick<HttpRequest, 'method' | 'headers' | 'body'>

const MAX_BYTES = 256 * 1024
const LIMITS: Limits = { eachMs: 10_000, allMs: 30_000 }

/**
 * The requests of one flow to a server's metadata and to its issuer. Carries no configured header, follows no redirect to
 * another origin, and requests only what AddressGuard permits. Rejects with an OAuthFailure.
 */
export class OAuthHttp {
  readonly #options: Options
  readonly #limits: Limits
  readonly #guard: AddressGuard
  readonly #clients = new Map<string, HttpClient>()
  #deadline: number | undefined

  constructor(options: Options) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#guard = new AddressGuard(options)
  }

  get(url: URL): Promise<OAuthResponse> {
    return this.#request(url, { method: 'GET', headers: { accept: 'application/json' } })
  }

  /** `withinMs` shortens the time limit of a request. */
  post(
    url: URL,
    body: string,
    headers: Readonly<Record<string, string>>,
    withinMs?: number,
  ): Promise<OAuthResponse> {
    return this.#request(url, { method: 'POST', body, headers }, withinMs)
  }

  /** Undefined: there is no metadata at this URL. Rejects when the host cannot answer at the moment. */
  async getMetadata(url: URL): Promise<Record<string, unknown> | undefined> {
    const response = await this.get(url)
    if (isPassing(response.status)) throw statusFailure(response)
    return response.status === 200 ? response.json : undefined
  }

  /** The parsed URL of an endpoint, checked like the URL of a request without being requested. */
  async checked(text: string, what: string): Promise<URL> {
    if (!URL.canParse(text)) {
      const hint = 'The operator of the server must correct its metadata'
      throw new OAuthFailure('unavailable', `${what} is not a URL`, hint)
    }
    const url = new URL(text)
    await this.#guard.check(url).catch((error: unknown) => {
      throw failureOf(error, `${what} cannot be used: `)
    })
    return url
  }

  close(): void {
    const reason = new OAuthFailure('unavailable', 'The login was cancelled', 'Start it again')
    for (const client of this.#clients.values()) client.close(reason)
  }

  async #request(url: URL, content: Content, withinMs = this.#limits.eachMs): Promise<OAuthResponse> {
    this.#deadline ??= performance.now() + this.#limits.allMs
    const timeoutMs = Math.min(withinMs, this.#limits.eachMs, this.#deadline - performance.now())
    try {
      if (timeoutMs <= 0) throw new Error('late')
      await this.#guard.check(url)
      const response = await this.#clientFor(url).request({ ...content, url, timeoutMs, firstByteMs: null })
      const body = await response.read(MAX_BYTES)
      return { url, status: response.status, headers: response.headers, json: jsonObject(body) }
    } catch (error) {
      if (performance.now() < this.#deadline) throw failureOf(error)
      const message = `The requests of this login took longer than ${this.#limits.allMs / 1000} s`
      throw new OAuthFailure('unavailable', message, 'Try again later')
    }
  }

  /** One client for each origin, so that no redirect leaves it. */
  #clientFor(url: URL): HttpClient {
    const known = this.#clients.get(url.origin)
    if (known) return known
    const network = { ...this.#options.network, lookup: this.#guard.lookup, linkLocal: false }
    const userAgent = `toolroom/${this.#options.version}`
    const client = new HttpClient({ url: new URL(url.origin), userAgent, network })
    this.#clients.set(url.origin, client)
    return client
  }
}

/** A status that may be different later. */
export const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 429

/** For a status that says nothing about the login. */
export function statusFailure({ url, status, headers }: OAuthResponse): OAuthFailure {
  const retryAfterS = retryAfter(headers['retry-after'], Date.now())
  const wait = retryAfterS === undefined ? 'later' : `in ${retryAfterS} s`
  const message = `${url.host} answered with status ${status}`
  return new OAuthFailure('unavailable', message, `Try again ${wait}`, retryAfterS)
}

/** Hints that speak of the tool server's URL do not fit an issuer. */
const HINTS: Readonly<Record<string, string>> = {
  timeout: 'Try again later. A firewall or a disconnected VPN is a common cause',
  redirect_refused: 'The operator of that host must publish the address that the redirect leads to',
  too_many_redirects: 'The operator of that host must correct its redirects',
  response_too_large: 'The operator of that host must correct its response',
  connection_refused: 'Try again later, and check that the host is up',
}

function failureOf(error: unknown, prefix = ''): unknown {
  if (!(error instanceof RemoteFailure)) return error
  const message =
    error.code === 'redirect_refused'
      ? error.message.replace(/, which must not .*/, ', which is not followed')
      : error.message
  return new OAuthFailure('unavailable', `${prefix}${message}`, HINTS[error.code] ?? error.hint)
}

function jsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString().replace(/^\uFEFF/, ''))
    return isObject(value) ? value : undefined
  } catch {
    return undefined // HTML, or nothing
  }
}
