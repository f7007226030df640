import { lookup as systemLookup } from 'node:dns'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isBlockedHost } from './blocked-address.ts'
import { BLOCKED } from './network-failure.ts'
import type { HttpProxy, ProxyFor } from './proxy.ts'
import { TunnelAgent } from './tunnel-agent.ts'

/** How connections are made. */
export interface Network {
  readonly lookup: typeof systemLookup
  /** Certificate authorities to trust instead of those of Node and NODE_EXTRA_CA_CERTS. */
  readonly ca: string | readonly string[] | undefined
  readonly proxyFor: ProxyFor
}

export interface Route {
  readonly agent: HttpAgent
  readonly proxy: HttpProxy | undefined
}

const MAX_SOCKETS = 256
const MAX_FREE_SOCKETS = 8
/** Many servers close an idle connection after 5 s. A request sent at that moment would be lost. */
const IDLE_MS = 4000

/** Connections per origin, kept open between requests and closed together. */
export class ConnectionPool {
  readonly #network: Partial<Network>
  readonly #onResolved: () => void
  readonly #routes = new Map<string, Route>()

  constructor(network: Partial<Network>, onResolved: () => void) {
    this.#network = network
    this.#onResolved = onResolved
  }

  routeTo(url: URL): Route {
    const known = this.#routes.get(url.origin)
    if (known) return known
    const proxy = this.#network.proxyFor?.(url)
    const route = { agent: this.#agentFor(url, proxy), proxy }
    this.#routes.set(url.origin, route)
    return route
  }

  close(): void {
    for (const { agent } of this.#routes.values()) {
      agent.maxFreeSockets = 0 // a socket that connects after its request was aborted is not kept
      agent.destroy()
    }
  }

  /**
   * Without a proxy, every address that a name resolves to is checked. With a proxy the proxy resolves the name, so only
   * a literal host can be checked (by the client), and the proxy's own address is trusted as the setting is.
   */
  #agentFor(url: URL, proxy: HttpProxy | undefined): HttpAgent {
    const { lookup = systemLookup, ca } = this.#network
    const options = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      maxFreeSockets: MAX_FREE_SOCKETS,
      timeout: IDLE_MS,
      lookup: proxy ? (lookup as LookupFunction) : guarded(lookup, this.#onResolved),
    }
    const secure = { ...options, ...(ca !== undefined && { ca: [ca].flat() }) }
    if (proxy && url.protocol === 'https:') return new TunnelAgent(url, proxy, secure)
    return (proxy?.url ?? url).protocol === 'https:' ? new HttpsAgent(secure) : new HttpAgent(options)
  }
}

/** Fails when any address of a name is blocked, before a connection to one of them is made. */
function guarded(lookup: typeof systemLookup, onResolved: () => void): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      if (addresses.some(({ address }) => isBlockedHost(address))) {
        return callback(Object.assign(new Error('blocked'), { code: BLOCKED }), [])
      }
      onResolved()
      const [first] = addresses
      if (options.all || !first) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
