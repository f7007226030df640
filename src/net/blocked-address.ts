import { BlockList, isIP } from 'node:net'

/** Link-local addresses and cloud providers' metadata services. No tool server or registry runs there. */
const BLOCKED = new BlockList()
BLOCKED.addSubnet('169.254.0.0', 16, 'ipv4')
BLOCKED.addSubnet('fe80::', 10, 'ipv6')
BLOCKED.addAddress('fd00:ec2::254', 'ipv6')
BLOCKED.addAddress('100.100.100.200', 'ipv4')
BLOCKED.addAddress('192.0.0.192', 'ipv4')

const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data'])

/** True for a host that must never be contacted. Takes the host as a parsed URL spells it, IPv6 in brackets. */
export function isBlockedHost(host: string): boolean {
  return METADATA_NAMES.has(bareHost(host)) || isAddressIn(BLOCKED, host)
}

/** False for a name: only a literal address can be in a list. */
export function isAddressIn(list: BlockList, host: string): boolean {
  const address = bareHost(host)
  const family = isIP(address)
  if (family === 0) return false
  const mapped = family === 6 ? mappedIPv4(address) : undefined
  return (
    list.check(address, family === 4 ? 'ipv4' : 'ipv6') ||
    (mapped !== undefined && list.check(mapped, 'ipv4'))
  )
}

/** In lower case, without IPv6 brackets and the final dot of a full name. */
export const bareHost = (host: string): string =>
  host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()

/** `::ffff:a9fe:a9fe`, `64:ff9b::a9fe:a9fe`: an IPv4 address inside an IPv6 one. */
function mappedIPv4(address: string): string | undefined {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const tail = /^(?:::ffff:|::|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain)
  if (!tail) return undefined
  const [high, low] = [Number.parseInt(tail[1] ?? '', 16), Number.parseInt(tail[2] ?? '', 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
