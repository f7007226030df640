import { lookup as systemLookup } from 'node:dns'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isBlockedHost } from './blocked-address.ts'
import { BLOCKED } from './network-failure.ts'

/** The outside world, as far as it can be exchanged. */
export interface Network {
  readonly lookup: typeof systemLookup
  /** Authorities to trust instead of those that Node knows. */
  readonly ca: string | undefined
}

const MAX_SOCKETS = 256
const MAX_FREE_SOCKETS = 8
/** Many servers close an idle connection after 5 s. What we send at that very moment would be lost. */
const IDLE_MS = 4000

/** Connections to one server, kept open between requests and closed together. */
export function agentFor(url: URL, network: Partial<Network>, onFound: () => void): HttpAgent {
  const options = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    maxFreeSockets: MAX_FREE_SOCKETS,
    timeout: IDLE_MS,
    lookup: guarded(network.lookup ?? systemLookup, onFound),
  }
  if (url.protocol === 'http:') return new HttpAgent(options)
  return new HttpsAgent({ ...options, ...(network.ca !== undefined && { ca: network.ca }) })
}

/** A name is judged by what it leads to: one address that must not be asked is enough to ask none of them. */
function guarded(lookup: typeof systemLookup, onFound: () => void): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      if (addresses.some(({ address }) => isBlockedHost(address))) {
        return callback(Object.assign(new Error('blocked'), { code: BLOCKED }), [])
      }
      onFound()
      const [first] = addresses
      if (options.all || !first) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
