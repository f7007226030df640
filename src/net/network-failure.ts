import { RemoteFailure } from './http-failure.ts'
import type { HttpProxy } from './proxy.ts'

/** How far a request had come. */
export type Phase = 'connect' | 'tls' | 'send' | 'body'

/** Error code of a lookup that resolved to a blocked address. */
export const BLOCKED = 'TOOLROOM_BLOCKED_ADDRESS'
export const CONNECT_MS = 10_000

/**
 * A socket, TLS or parser error as a sentence with a hint. The original message is not quoted: it may contain parts of
 * the request.
 */
export function networkFailure(error: unknown, url: URL, phase: Phase, proxy?: HttpProxy): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const isAtProxy = phase === 'connect' || (phase === 'tls' && url.protocol === 'http:')
  if (proxy && isAtProxy) {
    const { message } = networkFailure(error, proxy.url, phase)
    const hint = `Check ${proxy.setBy}, or list ${url.hostname} in NO_PROXY to connect without the proxy`
    return new RemoteFailure('proxy_failed', `${named(proxy)} cannot be reached: ${message}`, hint)
  }
  const code = codeOf(error)
  const { hostname, host } = url
  const sentence = TLS_SENTENCES[code]
  if (sentence) return new RemoteFailure('tls_failed', sentence[0].replace('%', host), sentence[1])
  if (code === BLOCKED) return blocked(hostname)
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) {
    const hint = 'Check the spelling of the host in the URL, and that this computer is online'
    return new RemoteFailure('dns_failed', `The name ${hostname} was not found`, hint)
  }
  if (code === 'ECONNREFUSED') {
    const hint = 'Start the server, or correct the port in the URL'
    return new RemoteFailure('connection_refused', `Nothing is listening at ${address(url)}`, hint)
  }
  if (code === 'ETIMEDOUT') {
    const hint = 'Check the host and port in the URL. A firewall or a disconnected VPN is a common cause'
    return new RemoteFailure('connect_timeout', `${address(url)} did not accept the connection in time`, hint)
  }
  if (/^E(HOST|NET)(UNREACH|DOWN)$/.test(code)) {
    const hint = "Check the address in the URL, and this computer's network or VPN"
    return new RemoteFailure('connection_refused', `There is no network route to ${host}`, hint)
  }
  if (code.startsWith('HPE_') || code.startsWith('Z_') || code.startsWith('ERR_BROTLI')) {
    const hint = 'Check the scheme and port in the URL: the program listening there may not be an HTTP server'
    return new RemoteFailure('protocol_error', `The response from ${host} is not valid HTTP`, hint)
  }
  if (phase === 'tls') {
    const hint =
      'Check that the port in the URL is the https port. An old server may support only old TLS versions'
    return new RemoteFailure('tls_failed', `The TLS handshake with ${host} failed`, hint)
  }
  if (['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code)) {
    const when = phase === 'body' ? 'in the middle of its response' : 'without a response'
    const hint = "Check the server's log. If it is behind a proxy, also check the scheme and port in the URL"
    return new RemoteFailure('connection_reset', `${host} closed the connection ${when}`, hint)
  }
  const shown = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : ''
  const hint = "Check this server's URL and headers, then try again"
  return new RemoteFailure('protocol_error', `The request to ${host} failed${shown}`, hint)
}

export function blocked(hostname: string): RemoteFailure {
  const message = `${hostname} is, or resolves to, a link-local address or a cloud metadata service, which Toolroom never contacts`
  return new RemoteFailure('blocked_address', message, "Use the server's public name or address")
}

/** A proxy answered a request for `url` with its own status. */
export function proxyRefusal(status: number, { host, hostname }: URL, proxy: HttpProxy): RemoteFailure {
  if (status === 407) {
    const [what, how] = proxy.authorization
      ? ['rejects the login', `Correct the user name and password in ${proxy.setBy}`]
      : ['requires a login', `Add it to ${proxy.setBy}: http://user:password@host:port`]
    return new RemoteFailure('proxy_failed', `${named(proxy)} ${what} (status 407)`, how, { status })
  }
  const hint = `Check that the proxy can reach ${host}, or list ${hostname} in NO_PROXY to connect without the proxy`
  const message = `${named(proxy)} did not forward the request to ${host} (status ${status})`
  return new RemoteFailure('proxy_failed', message, hint, { status })
}

/** The statuses that a proxy answers with instead of the server behind it. */
export const PROXY_STATUSES: readonly number[] = [407, 502, 504]

const named = ({ url, setBy }: HttpProxy) => `The proxy ${url.host} (set by ${setBy})`

const RENEW = "The server's operator must renew it; also check this computer's clock"
const CLOCK =
  "Check this computer's clock. If it is right, the server's operator must replace the certificate"
const TRUST =
  'If you trust it, set NODE_EXTRA_CA_CERTS to the path of that certificate or its CA certificate, and restart'
const UNKNOWN_AUTHORITY = [
  'The certificate for % was issued by an authority that this computer does not trust',
  TRUST,
] as const

/** By error code; `%` is replaced by the host. */
const TLS_SENTENCES: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  CERT_HAS_EXPIRED: ['The certificate for % has expired', RENEW],
  CERT_NOT_YET_VALID: ['The certificate for % is not valid yet', CLOCK],
  CERT_REVOKED: ['The certificate for % was revoked', "The server's operator must replace it"],
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    'The certificate for % is self-signed, so no authority vouches for it',
    TRUST,
  ],
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'The certificate for % cannot be verified: its authority is unknown, or an intermediate certificate is missing',
    TRUST,
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'The certificate for % was issued for another host name',
    'Use the host name from the certificate in the URL, or check that this is the right server',
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    '% does not support TLS on this port',
    'Write http:// in the URL, or use the https port',
  ],
}

/** When several addresses were tried there are several errors; the first is used. */
function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}

function address({ hostname, port, protocol }: URL): string {
  return `${hostname}, port ${port || (protocol === 'https:' ? 443 : 80)}`
}
