import { BlockList, isIP } from 'node:net'
import { bareHost, embeddedIPv4, isAddressIn } from './blocked-address.ts'
import { isLoopbackHost } from './proxy.ts'

/** From where an address can be reached, from everywhere to this computer only. */
export const REACH = { public: 0, private: 1, loopback: 2 } as const

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
export function reachOf(host: string): number {
  const bare = bareHost(host)
  if (isLoopbackHost(bare) || isAddressIn(THIS_HOST, bare)) return REACH.loopback
  const embedded = isIP(bare) === 6 ? embeddedIPv4(bare).map(reachOf) : []
  return Math.max(isAddressIn(PRIVATE, bare) ? REACH.private : REACH.public, ...embedded)
}
