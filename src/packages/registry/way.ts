import { type ClientRequest, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** How npm is told to go out: whom to trust, and through whom. */
export interface Way {
  /** Undefined: whom Node trusts. */
  readonly certificates: readonly string[] | undefined
  proxyFor(url: URL): URL | undefined
}

export const DIRECT: Way = { certificates: undefined, proxyFor: () => undefined }

/** A request that goes the way; nothing is sent before its `end`. Rejects when the proxy cannot be used. */
export async function requestOver(
  way: Way,
  url: URL,
  options: RequestOptions & { readonly signal: AbortSignal },
): Promise<ClientRequest> {
  const proxy = way.proxyFor(url)
  const ca = way.certificates ? { ca: [...way.certificates] } : {}
  if (url.protocol === 'https:') {
    if (!proxy) return requestHttps(url, { ...options, ...ca, agent: false })
    const socket = await tunnel(proxy, url, options.signal)
    const secured = connectTls({ socket, servername: url.hostname, ...ca })
    const agent = Object.assign(new Agent(), { createConnection: () => secured })
    return requestHttps(url, { ...options, agent })
  }
  if (!proxy) return requestHttp(url, { ...options, agent: false })
  const headers = { ...options.headers, host: url.host, ...loginOf(proxy) } as RequestOptions['headers']
  return requestHttp({
    ...addressOf(proxy),
    ...options,
    headers: headers ?? {},
    path: url.href,
    agent: false,
  })
}

function tunnel(proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${url.port || 443}`
  return new Promise((resolve, reject) => {
    const asked = requestHttp({
      ...addressOf(proxy),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...loginOf(proxy) },
      signal,
      agent: false,
    })
    asked.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(Object.assign(new Error(`the proxy answered ${statusCode}`), { code: 'EPROXY' }))
    })
    asked.on('response', (response) => {
      response.destroy()
      reject(Object.assign(new Error(`the proxy answered ${response.statusCode}`), { code: 'EPROXY' }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

const addressOf = ({ hostname, port, protocol }: URL) => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: Number(port) || (protocol === 'https:' ? 443 : 80),
})

function loginOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {}
  const both = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(both).toString('base64')}` }
}

type Setting = (key: string) => unknown
type Env = Readonly<Record<string, string | undefined>>

/** As npm reads its settings `ca`, `cafile`, `proxy`, `https-proxy` and `noproxy`, and the variables that everybody reads. */
export function wayOf(setting: Setting, cafile: string, env: Env): Way {
  const variable = (name: string) => env[name.toLowerCase()] ?? env[name]
  const given = [setting('ca')]
    .flat()
    .filter((text): text is string => typeof text === 'string' && text !== '')
  const filed = cafile.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  const certificates = [...given.map((text) => text.replaceAll('\\n', '\n')), ...filed]
  const spared = [...listOf(setting('noproxy')), ...listOf(variable('NO_PROXY'))]
  return {
    certificates: certificates.length > 0 ? certificates : undefined,
    proxyFor: (url) => {
      if (
        spared.some((host) => host === '*' || `.${url.hostname}`.endsWith(`.${host.replace(/^\*?\./, '')}`))
      )
        return undefined
      const isSecure = url.protocol === 'https:'
      const own = isSecure ? [setting('https-proxy'), setting('proxy')] : [setting('proxy')]
      const common = isSecure ? [variable('HTTPS_PROXY'), variable('HTTP_PROXY')] : [variable('HTTP_PROXY')]
      const proxy = [...own, ...common].find((one) => typeof one === 'string' && URL.canParse(one))
      return typeof proxy === 'string' ? new URL(proxy) : undefined
    },
  }
}

const listOf = (value: unknown): string[] =>
  [value]
    .flat()
    .flatMap((text) => (typeof text === 'string' ? text.split(',') : []))
    .map((host) => host.trim())
    .filter((host) => host !== '')
