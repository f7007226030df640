import { RemoteFailure } from './http-failure.ts'
import type { HttpResponse } from './http-response.ts'

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status)

/**
 * The next URL to request within the same origin; undefined when the response is not a redirect. Other origins are
 * refused because the configured headers belong to this one. A POST stays a POST, also on 301 and 302: these redirect
 * `/mcp` to `/mcp/`, and a GET would be a different request. A 303 refers to a page for GET, which is not MCP.
 */
export function sameOriginTarget(
  method: string,
  { status, headers, url: from }: HttpResponse,
): URL | undefined {
  if (!isRedirect(status)) return undefined
  const to = locationOf(headers.location, from)
  if (to === undefined) {
    const hint = 'Check the URL: the server behind it is not set up as an MCP endpoint'
    const message = `${from.host} redirects without a valid Location header`
    throw new RemoteFailure('protocol_error', message, hint, { status })
  }
  if (to.origin !== from.origin) {
    const message = `${from.host} redirects to another origin (${originOf(to)}), which must not receive this server's headers`
    const hint = "If you trust that address, use it as the server's URL"
    throw new RemoteFailure('redirect_refused', message, hint, { status })
  }
  if (status === 303 && method !== 'GET') {
    const hint = 'Check that the URL is an MCP endpoint; a login page often redirects like this'
    throw new RemoteFailure('redirect_refused', `${from.host} redirects to a page`, hint, { status })
  }
  return to
}

/** The next URL to request, on any origin but never from https to http. A redirect without Location is a plain response. */
export function anyOriginTarget({ status, headers, url: from }: HttpResponse): URL | undefined {
  if (!isRedirect(status) || headers.location === undefined) return undefined
  const to = locationOf(headers.location, from)
  if (to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')) return to
  const message = `${from.host} redirects to an address that cannot be followed`
  throw new RemoteFailure('redirect_refused', message, 'Check the URL', { status })
}

function locationOf(location: string | undefined, from: URL): URL | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  to.username = ''
  to.password = ''
  return to
}

/** Without path and query, which may repeat a secret from the requested URL. */
function originOf({ protocol, host }: URL): string {
  return /^https?:$/.test(protocol) ? `${protocol}//${host}` : protocol
}
