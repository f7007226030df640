import { RemoteFailure } from './http-failure.ts'
import type { HttpAnswer } from './http-response.ts'

/**
 * Where to ask again; undefined when the answer is no redirect. Only inside the same origin: the headers of a server are
 * for that one. A POST stays a POST, also on 301 and 302: `/mcp` to `/mcp/` is what they mean here, and a GET would be
 * another question. A 303 says that the result is to be fetched by GET, which no MCP server does.
 */
export function redirected(method: string, from: URL, { status, headers }: HttpAnswer): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  const { location } = headers
  if (location === undefined || !URL.canParse(location, from.href)) {
    const hint = 'Check the URL: the server behind it is not set up as an MCP endpoint'
    throw new RemoteFailure('protocol_error', `${from.host} redirects, but does not say where to`, hint, {
      status,
    })
  }
  const to = new URL(location, from)
  to.username = ''
  to.password = ''
  if (to.origin !== from.origin) {
    const message = `${from.host} redirects to another origin (${shown(to)}), where the headers of this server must not go`
    const hint = 'If you trust that address, write it into the URL'
    throw new RemoteFailure('redirect_refused', message, hint, { status })
  }
  if (status === 303 && method !== 'GET') {
    const hint = 'Check that the URL is an MCP endpoint; a login page often answers so'
    throw new RemoteFailure('redirect_refused', `${from.host} answers with a redirect to a page`, hint, {
      status,
    })
  }
  return to
}

/** Without path and query, which may repeat a secret of the URL that was asked. */
function shown({ protocol, host }: URL): string {
  return /^https?:$/.test(protocol) ? `${protocol}//${host}` : protocol
}
