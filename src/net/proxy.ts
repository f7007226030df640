import type { RequestOptions } from 'node:https'
import { BlockList, isIP } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { bareHost, isAddressIn } from './blocked-address.ts'
import { RemoteFailure } from './http-failure.ts'

/** An HTTP proxy. */
export interface HttpProxy {
  /** Without the login. */
  readonly url: URL
  /** The Proxy-Authorization header. It is sent to the proxy only. */
  readonly authorization: string | undefined
  /** The setting that names the proxy, for error texts: `HTTPS_PROXY`. */
  readonly setBy: string
}

/** Undefined: connect directly. Throws a RemoteFailure when the setting is not the URL of an HTTP proxy. */
export type ProxyFor = (url: URL) => HttpProxy | undefined

export interface Setting {
  readonly name: string
  readonly value: string | undefined
}

/** Settings in order of precedence: the first with a value applies. */
export interface ProxySettings {
  readonly http: readonly Setting[]
  readonly https: readonly Setting[]
  /** Hosts that are reached directly, separated by commas or spaces. */
  readonly noProxy: string
}

type Env = Readonly<Record<string, string | undefined>>

/** HTTPS_PROXY, HTTP_PROXY and NO_PROXY. The lower-case names win, as in curl. */
export function environmentSettings(env: Env): ProxySettings {
  const variable = (upper: string): Setting => {
    const lower = upper.toLowerCase()
    return env[lower] ? { name: lower, value: env[lower] } : { name: upper, value: env[upper] }
  }
  const http = [variable('HTTP_PROXY')]
  return { http, https: [variable('HTTPS_PROXY'), ...http], noProxy: variable('NO_PROXY').value ?? '' }
}

export const proxyFromEnvironment = (env: Env): ProxyFor => proxyFrom(environmentSettings(env))

/** This computer is always reached directly, whatever the settings say. */
export function proxyFrom({ http, https, noProxy }: ProxySettings): ProxyFor {
  let isListed: ((url: URL) => boolean) | undefined // from its first use: parsing addresses would delay the start
  return (url) => {
    if (isLoopbackHost(url.hostname)) return undefined
    isListed ??= hostList(noProxy)
    if (isListed(url)) return undefined
    const setting = (url.protocol === 'https:' ? https : http).find(({ value }) => value)
    return setting && parseProxy(setting)
  }
}

/** A request to the proxy about `host`. The TLS server name is the proxy's; Node would take it from the Host header. */
export function requestToProxy({ url, authorization }: HttpProxy, host: string): RequestOptions {
  return {
    ...urlToHttpOptions(url),
    servername: isIP(bareHost(url.hostname)) ? '' : url.hostname,
    headers: { host, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
  }
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
LOOPBACK.addAddress('0.0.0.0', 'ipv4')
LOOPBACK.addAddress('::', 'ipv6')

export const isLoopbackHost = (host: string): boolean =>
  /^(?:.*\.)?localhost$/.test(bareHost(host)) || isAddressIn(LOOPBACK, host)

/** Entries of NO_PROXY: `*`, a name and everything below it, `name:port`, an address, a range such as `10.0.0.0/8`. */
function hostList(text: string): (url: URL) => boolean {
  const addresses = new BlockList()
  const names: (readonly [name: string, port: string | undefined])[] = []
  for (const entry of text.toLowerCase().split(/[\s,]+/)) {
    const [, address = '', prefix] = /^\[?([\d.:a-f]+)\]?(?:\/(\d{1,3}))?$/.exec(entry) ?? []
    const family = isIP(address)
    if (family !== 0) {
      const bits = family === 4 ? 32 : 128
      addresses.addSubnet(address, Math.min(Number(prefix ?? bits), bits), family === 4 ? 'ipv4' : 'ipv6')
    } else if (entry !== '') {
      const [, name = '', port] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry) ?? []
      names.push([name, port])
    }
  }
  return (url) => {
    const host = bareHost(url.hostname)
    const ownPort = url.port || (url.protocol === 'https:' ? '443' : '80')
    const isNamed = names.some(
      ([name, port]) =>
        (name === '*' || `.${host}`.endsWith(`.${name}`)) && (port === undefined || port === ownPort),
    )
    return isNamed || isAddressIn(addresses, host)
  }
}

function parseProxy({ name, value = '' }: Setting): HttpProxy {
  const text = value.includes('://') ? value : `http://${value}`
  try {
    const url = new URL(text)
    if (!/^https?:$/.test(url.protocol)) throw new Error('unsupported scheme')
    const login = [url.username, url.password].map(decodeURIComponent).join(':')
    url.username = ''
    url.password = ''
    const authorization = login === ':' ? undefined : `Basic ${Buffer.from(login).toString('base64')}`
    return { url, authorization, setBy: name }
  } catch {
    // Without the value, which may contain a password.
    const hint = `Write ${name} as http://host:port, with an http or https proxy`
    throw new RemoteFailure('proxy_failed', `${name} is not the URL of an HTTP proxy`, hint)
  }
}
