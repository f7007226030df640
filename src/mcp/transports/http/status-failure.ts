import type { IncomingHttpHeaders } from 'node:http'
import { RemoteFailure } from '../../../net/http-failure.ts'
import { challengeIn } from './auth-challenge.ts'

interface Refusal {
  readonly host: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** What the server said about it, already fit to be shown. */
  readonly words?: string | undefined
}

/** An answer whose status says no, in a sentence. */
export function statusFailure({ host, status, headers, words }: Refusal, now = Date.now): RemoteFailure {
  const said = words === undefined ? '' : `: ${words}`
  switch (status) {
    case 401: {
      const auth = challengeIn(headers['www-authenticate'])
      const scope = auth?.scope === undefined ? '' : `, scope ${auth.scope}`
      const kind = auth === undefined ? '' : ` (${auth.scheme}${scope})`
      const hint =
        'Give this server a header Authorization with a valid token; one that worked before may have run out'
      return new RemoteFailure('auth_required', `${host} asks who you are${kind}${said}`, hint, {
        status,
        auth,
      })
    }
    case 403: {
      const auth = challengeIn(headers['www-authenticate'])
      const hint =
        'Check what the token of this server may do, and whether the server takes requests from here'
      return new RemoteFailure('forbidden', `${host} does not permit this${said}`, hint, { status, auth })
    }
    case 404: {
      const hint = 'Correct the path in the URL: it is often /mcp, or /sse'
      return new RemoteFailure('not_found', `${host} has nothing at the path of this URL${said}`, hint, {
        status,
      })
    }
    case 429: {
      const retryAfterS = retryAfter(headers['retry-after'], now())
      const hint = `Ask again ${wait(retryAfterS)}, and less often`
      const message = `${host} was asked too often${said}`
      return new RemoteFailure('rate_limited', message, hint, { status, retryAfterS })
    }
    case 503: {
      const retryAfterS = retryAfter(headers['retry-after'], now())
      const hint = `Try again ${wait(retryAfterS)}; if it stays so, look at the server`
      const message = `${host} is not available now${said}`
      return new RemoteFailure('unavailable', message, hint, { status, retryAfterS })
    }
    default: {
      const hint =
        status >= 500
          ? 'The fault is on its side: look into the log of the server'
          : 'Check that the URL is an MCP endpoint, and that the headers are what the server expects'
      return new RemoteFailure('http_error', `${host} answered with status ${status}${said}`, hint, {
        status,
      })
    }
  }
}

const LONGEST_WAIT_S = 24 * 60 * 60

/** Seconds, or a date. */
function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), LONGEST_WAIT_S)
}

function wait(seconds: number | undefined): string {
  return seconds === undefined ? 'later' : `in ${seconds} s`
}
