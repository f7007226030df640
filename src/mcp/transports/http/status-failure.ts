import type { IncomingHttpHeaders } from 'node:http'
import { printableLine } from '../../../kernel/secrets/strip-terminal-codes.ts'
import { type AuthDetail, type RemoteCode, RemoteFailure, retryAfter } from '../../../net/http-failure.ts'

interface Rejection {
  readonly host: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The server's own explanation, safe to show. */
  readonly quote?: string | undefined
}

/** The failure that an HTTP error status means. */
export function statusFailure({ host, status, headers, quote }: Rejection, now = Date.now): RemoteFailure {
  const reason = quote === undefined ? '' : `: ${quote}`
  const auth = status === 401 || status === 403 ? challengeIn(headers['www-authenticate']) : undefined
  const retryAfterS = status === 429 || status === 503 ? retryAfter(headers['retry-after'], now()) : undefined
  const failure = (code: RemoteCode, message: string, hint: string) =>
    new RemoteFailure(code, `${host} ${message}${reason}`, hint, { status, auth, retryAfterS })
  const wait = retryAfterS === undefined ? 'later' : `in ${retryAfterS} s`
  switch (status) {
    case 401: {
      const scope = auth?.scope === undefined ? '' : `, scope ${auth.scope}`
      const kind = auth === undefined ? '' : ` (${auth.scheme}${scope})`
      const hint =
        'Log in to the server, or add an Authorization header with a valid token. A token that worked before may have expired'
      return failure('auth_required', `requires authentication${kind}`, hint)
    }
    case 403: {
      const hint = "Check the token's permissions, and whether the server accepts requests from this address"
      return failure('forbidden', 'denied access', hint)
    }
    case 404: {
      const hint = 'Correct the path in the URL: it is often /mcp or /sse'
      return failure('not_found', 'has nothing at this path', hint)
    }
    case 429:
      return failure(
        'rate_limited',
        'received too many requests',
        `Try again ${wait}, and send fewer requests`,
      )
    case 503:
      return failure(
        'unavailable',
        'is temporarily unavailable',
        `Try again ${wait}. If it persists, check the server`,
      )
    default: {
      const hint =
        status >= 500
          ? 'The error is on the server: check its log'
          : 'Check that the URL is an MCP endpoint and that the headers are what the server expects'
      return failure('http_error', `answered with status ${status}`, hint)
    }
  }
}

const NAMES = ['realm', 'scope', 'error', 'resource_metadata'] as const
const MAX_HEADER_CHARS = 8192
const MAX_CHARS = 500
const SCHEME = /^\s*([A-Za-z][\w-]{0,30})(?=\s|,|$)/
const PARAMETER = /([a-z_]{1,40})\s{0,4}=\s{0,4}(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi

/** The first challenge of a WWW-Authenticate header: its scheme, and the parameters that we use. */
export function challengeIn(header: string | undefined): AuthDetail | undefined {
  const text = header?.slice(0, MAX_HEADER_CHARS) ?? ''
  const scheme = SCHEME.exec(text)?.[1]
  if (scheme === undefined) return undefined
  const found: { [name in (typeof NAMES)[number]]?: string } = {}
  for (const [, key = '', quoted, bare] of text.matchAll(PARAMETER)) {
    const name = NAMES.find((each) => each === key.toLowerCase())
    const value = printableLine(quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '', MAX_CHARS)
    if (name !== undefined && value !== undefined) found[name] ??= value
  }
  return { scheme, ...found }
}
