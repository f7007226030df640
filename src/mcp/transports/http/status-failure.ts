import type { IncomingHttpHeaders } from 'node:http'
import { RemoteFailure } from '../../../net/http-failure.ts'
import { challengeIn } from './auth-challenge.ts'

interface Rejection {
  readonly host: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The server's own explanation, safe to show. */
  readonly quote?: string | undefined
}

/** The failure that an HTTP error status means. */
export function statusFailure({ host, status, headers, quote }: Rejection, now = Date.now): RemoteFailure {
  const said = quote === undefined ? '' : `: ${quote}`
  switch (status) {
    case 401: {
      const auth = challengeIn(headers['www-authenticate'])
      const scope = auth?.scope === undefined ? '' : `, scope ${auth.scope}`
      const kind = auth === undefined ? '' : ` (${auth.scheme}${scope})`
      const hint =
        'Add an Authorization header with a valid token. A token that worked before may have expired'
      return new RemoteFailure('auth_required', `${host} requires authentication${kind}${said}`, hint, {
        status,
        auth,
      })
    }
    case 403: {
      const auth = challengeIn(headers['www-authenticate'])
      const hint =
        'Check the permissions of the token, and whether the server accepts requests from this address'
      return new RemoteFailure('forbidden', `${host} denied access${said}`, hint, { status, auth })
    }
    case 404: {
      const hint = 'Correct the path in the URL: it is often /mcp or /sse'
      return new RemoteFailure('not_found', `${host} has nothing at the path of this URL${said}`, hint, {
        status,
      })
    }
    case 429: {
      const retryAfterS = retryAfter(headers['retry-after'], now())
      const hint = `Try again ${wait(retryAfterS)}, and send fewer requests`
      return new RemoteFailure('rate_limited', `${host} received too many requests${said}`, hint, {
        status,
        retryAfterS,
      })
    }
    case 503: {
      const retryAfterS = retryAfter(headers['retry-after'], now())
      const hint = `Try again ${wait(retryAfterS)}. If it persists, check the server`
      return new RemoteFailure('unavailable', `${host} is temporarily unavailable${said}`, hint, {
        status,
        retryAfterS,
      })
    }
    default: {
      const hint =
        status >= 500
          ? 'The error is on the server: check its log'
          : 'Check that the URL is an MCP endpoint and that the headers are what the server expects'
      return new RemoteFailure('http_error', `${host} answered with status ${status}${said}`, hint, {
        status,
      })
    }
  }
}

const LONGEST_WAIT_S = 24 * 60 * 60

/** The seconds to wait. The header has a number of seconds or a date. */
function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), LONGEST_WAIT_S)
}

function wait(seconds: number | undefined): string {
  return seconds === undefined ? 'later' : `in ${seconds} s`
}
