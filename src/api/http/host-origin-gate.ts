import { AppError } from '../../kernel/errors.ts'
import type { HttpRequest } from '../../kernel/http/http-types.ts'

const MAX_URL_BYTES = 8192

interface Options {
  /** Known only while listening: port 0 chooses a free one. */
  readonly port: () => number
  readonly allowedHosts: readonly string[]
}

/** The reason to refuse a request; undefined if it is allowed. */
export type Gate = (request: HttpRequest) => AppError | undefined

/**
 * Checks every request and upgrade before routing. A web page can make a browser send requests to loopback, and with DNS
 * rebinding even read the responses. It cannot choose the browser's Host, Origin and Sec-Fetch-Site headers.
 */
export function createGate({ port, allowedHosts }: Options): Gate {
  const known = new Map<string, ReadonlySet<string>>() // one entry for each of this computer's addresses
  const authoritiesAt = (localAddress = ''): ReadonlySet<string> => {
    const seen = known.get(localAddress)
    if (seen) return seen
    const allowed = allowedAuthorities(port(), allowedHosts, localAddress)
    if (port() !== 0) known.set(localAddress, allowed)
    return allowed
  }
  return (request) => {
    const { headers, rawHeaders, url = '' } = request
    if (url.includes('#')) return targetWithFragment()
    if (url.length > MAX_URL_BYTES)
      return new AppError('url_too_long', `The URL is longer than ${MAX_URL_BYTES} bytes`)
    if (!url.startsWith('/'))
      return new AppError('bad_host_header', 'The request target must be a path, not a URL')
    if (url.includes('%00') && /^[^?]*%00/.test(url))
      return new AppError('bad_request', 'The path must not contain a NUL character')
    const host = headers.host?.toLowerCase() ?? ''
    if (host === '' || hostHeaders(rawHeaders) !== 1) {
      return new AppError('bad_host_header', 'A request must have exactly one Host header')
    }
    const allowed = authoritiesAt(request.socket.localAddress)
    if (!allowed.has(host)) return hostNotAllowed(host)
    const { origin } = headers
    if (origin !== undefined && !allowedOrigin(origin, allowed)) return originNotAllowed()
    const site = headers['sec-fetch-site']
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    return opensLoginPage(request)
      ? undefined
      : new AppError('cross_site', 'The request comes from another web site')
  }
}

/**
 * A browser opens these pages when an issuer redirects to Toolroom, or when a user follows a link that an agent shows. No
 * page of another site can read them, and they do nothing without a secret that is in their URL.
 */
const LOGIN_PAGE = /^\/oauth\/(?:callback(?:\/[\w-]{1,64})?|done|start\/[\w-]{1,64})(?:\?|$)/

function opensLoginPage({ method, url = '', headers }: HttpRequest): boolean {
  const isForeign = headers['sec-fetch-site'] === 'cross-site' || headers['sec-fetch-site'] === 'same-site'
  const navigates = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return method === 'GET' && isForeign && navigates && LOGIN_PAGE.test(url)
}

/** The number of Host headers: Node keeps only the first. Names and values alternate in `rawHeaders`. */
function hostHeaders(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

/** Loopback names with the service's port, the local address of the connection, and ALLOWED_HOSTS. */
function allowedAuthorities(port: number, extra: readonly string[], localAddress: string): Set<string> {
  const own = localAddress.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '')
  const ownHost = own.includes(':') ? `[${own}]` : own
  const names = ['localhost', '127.0.0.1', '[::1]', ...(own ? [ownHost] : [])]
  const authorities = names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]))
  for (const entry of extra.map((name) => name.toLowerCase())) {
    authorities.push(entry)
    if (!/:\d+$/.test(entry)) authorities.push(`${entry}:${port}`)
  }
  return new Set(authorities)
}

function allowedOrigin(origin: string, allowed: ReadonlySet<string>): boolean {
  const match = /^https?:\/\/([^/?#@\s]+)$/i.exec(origin)
  return match?.[1] !== undefined && allowed.has(match[1].toLowerCase())
}

/**
 * Browsers and HTTP libraries never send a fragment. Parsers disagree about it: one ends the path there, another the
 * query, so a request would be judged by one reading and answered by the other.
 */
function targetWithFragment(): AppError {
  return new AppError('bad_request', "The request target contains '#'", {
    hint: "Remove the fragment, or write '#' as %23",
  })
}

function hostNotAllowed(host: string): AppError {
  const shown = JSON.stringify(host.slice(0, 100))
  return new AppError('host_not_allowed', `The Host header ${shown} is not one of this service's addresses`, {
    hint: 'Add it to ALLOWED_HOSTS if it is a name for this computer',
  })
}

function originNotAllowed(): AppError {
  return new AppError('origin_not_allowed', 'Web pages from another origin may not use this service')
}
