import { RemoteFailure } from './http-failure.ts'

/** How far a request had come. */
export type Phase = 'connect' | 'tls' | 'send' | 'body'

/** The lookup refuses with this code, so that it is told from what the system says. */
export const BLOCKED = 'TOOLROOM_BLOCKED_ADDRESS'

/** An error of a socket or of the HTTP parser, in a sentence. Their own messages stay inside: they may quote the request. */
export function networkFailure(error: unknown, url: URL, phase: Phase): RemoteFailure {
  if (error instanceof RemoteFailure) return error
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
    return new RemoteFailure('connection_refused', `Nothing listens at ${address(url)}`, hint)
  }
  if (code === 'ETIMEDOUT') return connectTimeout(url)
  if (/^E(HOST|NET)(UNREACH|DOWN)$/.test(code)) {
    const hint = 'Check the address in the URL, and the network or VPN of this computer'
    return new RemoteFailure('connection_refused', `There is no way from here to ${host}`, hint)
  }
  if (code.startsWith('HPE_') || code.startsWith('Z_') || code.startsWith('ERR_BROTLI')) {
    const hint = 'Check scheme and port of the URL: something else than an HTTP server may listen there'
    return new RemoteFailure('protocol_error', `${host} answered with something that is no valid HTTP`, hint)
  }
  if (phase === 'tls') return brokenHandshake(host)
  return brokenOff(host, phase, code)
}

export function blocked(hostname: string): RemoteFailure {
  const message = `${hostname} is, or leads to, a link-local address or a cloud's metadata service, which Toolroom never asks`
  return new RemoteFailure('blocked_address', message, 'Use the public name or address of the server')
}

export function connectTimeout(url: URL): RemoteFailure {
  const hint = 'Check host and port of the URL; a firewall or a VPN that is off often looks like this'
  return new RemoteFailure('connect_timeout', `${address(url)} did not take the connection in time`, hint)
}

const RENEW = 'Whoever runs the server must renew it; also check the clock of this computer'
const TRUST =
  'If you trust it, start Toolroom with NODE_EXTRA_CA_CERTS set to the file of that certificate or its authority'

/** By the code of the error; `%` is the host. */
const TLS_SENTENCES: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  CERT_HAS_EXPIRED: ['The certificate of % has expired', RENEW],
  CERT_NOT_YET_VALID: ['The certificate of % is not valid yet', RENEW],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['The certificate of % is signed by itself, so nobody vouches for it', TRUST],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'The certificate of % comes from an authority that this computer does not know',
    TRUST,
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'The certificate of % cannot be checked: a certificate between it and its authority is missing',
    TRUST,
  ],
  UNABLE_TO_GET_ISSUER_CERT: [
    'The certificate of % comes from an authority that this computer does not know',
    TRUST,
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    'The certificate of % comes from an authority that this computer does not know',
    TRUST,
  ],
  CERT_REVOKED: ['The certificate of % was revoked', RENEW],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'The certificate of % belongs to another host name',
    'Write the host in the URL as the certificate names it, or check that this is the right server',
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    '% does not speak TLS at this port',
    'Write http:// in the URL, or the port of its https',
  ],
}

function brokenHandshake(host: string): RemoteFailure {
  const hint =
    'Check that the port of the URL is the one for https; an old server may offer only old versions of TLS'
  return new RemoteFailure('tls_failed', `The TLS handshake with ${host} failed`, hint)
}

function brokenOff(host: string, phase: Phase, code: string): RemoteFailure {
  if (!['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code)) {
    return unexplained(host, code)
  }
  const when = phase === 'body' ? 'in the middle of its answer' : 'without an answer'
  const hint = 'Look into the log of the server; behind a proxy, also check scheme and port of the URL'
  return new RemoteFailure('connection_reset', `${host} closed the connection ${when}`, hint)
}

function unexplained(host: string, code: string): RemoteFailure {
  const named = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : ''
  const hint = 'Check the URL and the headers of this server, then try again'
  return new RemoteFailure('protocol_error', `The request to ${host} failed${named}`, hint)
}

/** With several addresses to try there are several errors; the first is as good as any. */
function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown }
  if (typeof code === 'string') return code
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : ''
}

function address({ hostname, port, protocol }: URL): string {
  return `${hostname}, port ${port || (protocol === 'https:' ? 443 : 80)}`
}
