import type { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import { bareHost, embeddedIPv4, isAddressIn, isBlockedHost } from '../blocked-address.ts'
import type { Network } from '../connection-pool.ts'
import { RemoteFailure } from '../http-failure.ts'
import { blocked } from '../network-failure.ts'
import { isLoopbackHost } from '../proxy.ts'

export interface GuardOptions {
  /** The tool server that the login is for. */
  readonly serverUrl: URL
  readonly network: Partial<Network>
  /** The origins at which this service listens. They are never requested. */
  readonly ownOrigins: () => readonly string[]
}

const HINT = 'Check the URL of the server and its OAuth settings, or ask its operator'

/**
 * Which URLs of a server's metadata may be requested. They are foreign text, so nothing is reached through them that the
 * server could not reach itself: no private address for a public server, no loopback address for one on the local
 * network, never this service.
 */
export class AddressGuard {
  readonly #options: GuardOptions
  readonly #lookup: typeof systemLookup
  /** Ports that are requested at a name without a proxy. */
  readonly #direct = new Map<string, Set<string>>()
  /** Known after the first check. */
  #serverReach: number | undefined

  constructor(options: GuardOptions) {
    this.#options = options
    this.#lookup = options.network.lookup ?? process.getBuiltinModule('node:dns').lookup
  }

  /** Throws a RemoteFailure when the URL must not be used. Names are checked by `lookup`, when they are resolved. */
  async check(url: URL): Promise<void> {
    if (url.username !== '' || url.password !== '' || url.hash !== '')
      throw refused(`The URL at ${url.host} contains a user name, a password or a fragment`)
    if (isBlockedHost(url.hostname)) throw blocked(url.hostname)
    this.#serverReach ??= await this.#resolveServer()
    if (!isEncrypted(url, this.#serverReach)) throw refused(`${shown(url)} does not use https`)
    if (this.#options.ownOrigins().includes(url.origin)) throw refused(`${url.host} is this service itself`)
    const problem = this.#problemOf(url.hostname, url.host, portOf(url))
    if (problem) throw problem
    if (this.#options.network.proxyFor?.(url) === undefined) {
      const ports = this.#direct.get(url.hostname) ?? new Set()
      this.#direct.set(url.hostname, ports.add(portOf(url)))
    }
  }

  /** Resolves a name and fails when one of its addresses must not be contacted. A proxy's name is only resolved. */
  readonly lookup = ((hostname: string, options: object, callback: LookupCallback) => {
    const ports = [...(this.#direct.get(hostname) ?? [])]
    this.#lookup(hostname, options, (error, found: string | Address[], family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
      const [problem] = ports.flatMap((port) =>
        addresses.flatMap((address) => this.#problemOf(address, hostname, port) ?? []),
      )
      callback(error ?? problem ?? null, found, family)
    })
  }) as typeof systemLookup

  #problemOf(address: string, host: string, port: string): RemoteFailure | undefined {
    const reach = reachOf(address)
    if (reach > (this.#serverReach ?? REACH.public)) {
      const where = reach === REACH.loopback ? 'this computer' : 'a private network'
      const server = this.#options.serverUrl.host
      return refused(`${host} is an address of ${where}, to which ${server} must not refer`)
    }
    const listeners = this.#options.ownOrigins().map((origin) => new URL(origin))
    const isOwnPort = listeners.some((own) => isAddress(own.hostname) && portOf(own) === port)
    return isOwnPort && isOwnAddress(address) ? refused(`${host} is this service itself`) : undefined
  }

  /** The least protected of the server's addresses counts. A server behind a proxy is public. */
  async #resolveServer(): Promise<number> {
    const { serverUrl, network } = this.#options
    const literal = reachOf(serverUrl.hostname)
    if (literal !== REACH.public || network.proxyFor?.(serverUrl) !== undefined) return literal
    const resolve = promisify(this.#lookup) as (name: string, options: object) => Promise<Address[]>
    const found = await resolve(bareHost(serverUrl.hostname), { all: true }).catch(() => [])
    return found.length === 0 ? REACH.public : Math.min(...found.map(({ address }) => reachOf(address)))
  }
}

interface Address {
  readonly address: string
}
type LookupCallback = (error: Error | null, found: string | Address[], family?: number) => void

const isEncrypted = ({ protocol, hostname }: URL, serverReach: number) =>
  protocol === 'https:' ||
  (protocol === 'http:' && isLoopbackHost(hostname) && serverReach === REACH.loopback)

const portOf = ({ port, protocol }: URL) => port || (protocol === 'https:' ? '443' : '80')

const refused = (message: string) => new RemoteFailure('blocked_address', message, HINT)

/** Without path and query, which are foreign text. */
const shown = ({ protocol, host }: URL) => (host === '' ? `A URL with the scheme ${protocol}` : host)

/** A public name belongs to a proxy, which may serve an issuer at the same port. */
const isAddress = (host: string) => isIP(bareHost(host)) !== 0 || isLoopbackHost(host)

function isOwnAddress(address: string): boolean {
  if (reachOf(address) === REACH.loopback) return true
  const bare = bareHost(address)
  return Object.values(networkInterfaces())
    .flat()
    .some((own) => own !== undefined && bareHost(own.address) === bare)
}

/** From where an address can be reached, from everywhere to this computer only. */
const REACH = { public: 0, private: 1, loopback: 2 } as const

const PRIVATE = new BlockList()
// biome-ignore format: a table
for (const [network, prefix, family] of [
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'], // shared by carriers and VPNs
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'], // multicast and reserved
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
] as const)
  PRIVATE.addSubnet(network, prefix, family)
const THIS_HOST = new BlockList()
THIS_HOST.addSubnet('0.0.0.0', 8, 'ipv4')

/** The reach of an address, or of the name localhost. Any other name counts as public: it must be resolved first. */
function reachOf(host: string): number {
  const bare = bareHost(host)
  if (isLoopbackHost(bare) || isAddressIn(THIS_HOST, bare)) return REACH.loopback
  const embedded = isIP(bare) === 6 ? embeddedIPv4(bare).map(reachOf) : []
  return Math.max(isAddressIn(PRIVATE, bare) ? REACH.private : REACH.public, ...embedded)
}
