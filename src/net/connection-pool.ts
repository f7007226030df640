import type { lookup as systemLookup } from 'node:dns'
import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isBlockedHost } from './blocked-address.ts'
import { BLOCKED } from './network-failure.ts'
import type { HttpProxy, ProxyFor } from './proxy.ts'

/** How connections are made. */
export interface Network {
  readonly lookup: typeof systemLookup
  /** Certificate authorities to trust instead of Node's own and those in NODE_EXTRA_CA_CERTS. */
  readonly ca: string | readonly string[] | undefined
  readonly proxyFor: ProxyFor
  /** Link-local addresses may be contacted too: only this computer's user chooses the URL. */
  readonly linkLocal: boolean
}

export interface Route {
  readonly agent: HttpAgent
  readonly proxy: HttpProxy | undefined
  /** `request` of node:http or node:https. */
  readonly send: (options: RequestOptions) => ClientRequest
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

  /** Undefined until `open` has been called for the origin. */
  routeTo(url: URL): Route | undefined {
    return this.#routes.get(url.origin)
  }

  /** Whether a connection to this origin is open, used or idle. */
  isConnectedTo(url: URL): boolean {
    const { sockets = {}, freeSockets = {} } = this.routeTo(url)?.agent ?? {}
    return [sockets, freeSockets].some((open) => Object.keys(open).length > 0)
  }

  /** Does not connect yet. Throws a RemoteFailure when the proxy setting is invalid. */
  async open(url: URL): Promise<Route> {
    const proxy = this.#network.proxyFor?.(url)
    const route = { proxy, ...(await this.#agentFor(url, proxy)) }
    const known = this.#routes.get(url.origin) // opened by another request meanwhile
    if (!known) this.#routes.set(url.origin, route)
    return known ?? route
  }

  close(): void {
    for (const { agent } of this.#routes.values()) {
      agent.maxFreeSockets = 0 // a socket that connects after its request was aborted is not kept
      agent.destroy()
    }
  }

  /**
   * Without a proxy, every address that a name resolves to is checked. With a proxy the proxy resolves the name, so only
   * a literal host can be checked (by the client), and the proxy's own address is trusted because the user set it.
   *
   * The modules for DNS and TLS are loaded on demand: agents wait for `toolroom connect`, which
   * needs them only if Toolroom runs on another computer.
   */
  async #agentFor(url: URL, proxy: HttpProxy | undefined): Promise<Pick<Route, 'agent' | 'send'>> {
    const { lookup, ca, linkLocal } = this.#network
    const options = {
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      maxFreeSockets: MAX_FREE_SOCKETS,
      timeout: IDLE_MS,
      lookup:
        proxy || linkLocal
          ? (lookup as LookupFunction | undefined)
          : guarded(lookup ?? process.getBuiltinModule('node:dns').lookup, this.#onResolved),
    }
    if (![url, proxy?.url].some((used) => used?.protocol === 'https:'))
      return { agent: new HttpAgent(options), send: requestHttp }
    const { Agent: HttpsAgent, request: send } = process.getBuiltinModule('node:https')
    const secure = { ...options, ...(ca !== undefined && { ca: [ca].flat() }) }
    if (!proxy || url.protocol === 'http:') return { agent: new HttpsAgent(secure), send }
    const { TunnelAgent } = await import('./proxy-tunnel.ts')
    return { agent: new TunnelAgent(url, proxy, secure), send }
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
