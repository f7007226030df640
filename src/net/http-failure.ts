/** Why a request to a URL has no usable response. */
export type RemoteCode =
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_reset'
  | 'connect_timeout'
  | 'proxy_failed'
  | 'tls_failed'
  | 'redirect_refused'
  | 'too_many_redirects'
  | 'http_error'
  | 'not_found'
  | 'auth_required'
  | 'forbidden'
  | 'rate_limited'
  | 'unavailable'
  | 'not_mcp'
  | 'response_too_large'
  | 'timeout'
  | 'blocked_address'
  | 'protocol_error'
  | 'session_lost'

/** The WWW-Authenticate header of a 401 or 403. */
export interface AuthDetail {
  readonly scheme: string
  readonly realm?: string
  readonly scope?: string
  readonly error?: string
  readonly resource_metadata?: string
}

interface Details {
  readonly status?: number | undefined
  readonly retryAfterS?: number | undefined
  readonly auth?: AuthDetail | undefined
}

/** The message is one sentence that names the host and never contains a secret. The hint says what to do. */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure'
  readonly code: RemoteCode
  readonly hint: string
  /** Of the response, if there was one. */
  readonly status: number | undefined
  readonly retryAfterS: number | undefined
  readonly auth: AuthDetail | undefined

  constructor(code: RemoteCode, message: string, hint: string, details: Details = {}) {
    super(message)
    this.code = code
    this.hint = hint
    this.status = details.status
    this.retryAfterS = details.retryAfterS
    this.auth = details.auth
  }
}

export const MEBIBYTE = 1024 * 1024

export const tooLarge = (host: string, what: string, maxBytes: number): RemoteFailure =>
  new RemoteFailure(
    'response_too_large',
    `${what} from ${host} is larger than ${maxBytes / MEBIBYTE} MiB`,
    'Request less data at once: Toolroom does not accept a larger response',
  )

export const timeoutFailure = (host: string, what: string, ms: number): RemoteFailure =>
  new RemoteFailure(
    'timeout',
    `${host} did not ${what} within ${Number((ms / 1000).toPrecision(3))} s`,
    'Check that the server is up and that the URL is its MCP endpoint; a proxy or firewall may block the connection',
  )

const LONGEST_WAIT_S = 24 * 60 * 60

/** The seconds to wait by a Retry-After header, which has a number of seconds or a date. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), LONGEST_WAIT_S)
}
