import { BlockList, isIP } from 'node:net'

/** Link-local addresses and cloud providers' metadata services. No tool server or registry runs there. */
const BLOCKED = new BlockList()
BLOCKED.addSubnet('169.254.0.0', 16, 'ipv4')
BLOCKED.addSubnet('fe80::', 10, 'ipv6')
// biome-ignore format: a table
for (const [address, family] of [
  ['100.100.100.200', 'ipv4'], // Alibaba
  ['168.63.129.16', 'ipv4'], // Azure
  ['192.0.0.192', 'ipv4'], // Oracle
  ['fd00:c1::a9fe:a9fe', 'ipv6'], // Oracle
  ['fd00:ec2::254', 'ipv6'], // AWS
  ['fd20:ce::254', 'ipv6'], // Google
  ['fd00:42::42', 'ipv6'], // Scaleway
] as const)
  BLOCKED.addAddress(address, family)

/** Names of the same services. A short one is completed by the search domain of a virtual machine. */
const METADATA_NAMES = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
])

/**
 * True for a host that must never be contacted: a name, or an address in any of its spellings. Takes the host as a parsed
 * URL spells it, with IPv6 in brackets, or as a name server returns it.
 */
export function isBlockedHost(host: string): boolean {
  const bare = bareHost(host)
  if (METADATA_NAMES.has(bare) || isAddressIn(BLOCKED, bare)) return true
  return isIP(bare) === 6 && embeddedIPv4(bare).some((address) => BLOCKED.check(address, 'ipv4'))
}

/** False for a name: only a literal address can be in a list. `::ffff:127.0.0.1` is the address 127.0.0.1. */
export function isAddressIn(list: BlockList, host: string): boolean {
  const address = bareHost(host)
  const family = isIP(address)
  if (family === 0) return false
  return list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** In lower case, without IPv6 brackets, the zone, and the final dot of a full name. */
export const bareHost = (host: string): string =>
  host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/%.*$/, '')
    .replace(/\.$/, '')
    .toLowerCase()

/**
 * The IPv4 addresses that a gateway may send packets to when it gets this IPv6 address: IPv4-mapped and IPv4-compatible
 * addresses, NAT64 with its known and its local prefix, 6to4, Teredo and ISATAP.
 */
export function embeddedIPv4(address: string): string[] {
  const groups = groupsOf(address)
  const [first = 0, second = 0, third = 0] = groups
  const at = (...bytes: readonly number[]) =>
    bytes.map((n) => ((groups[n >> 1] ?? 0) >> (n % 2 === 0 ? 8 : 0)) & 255).join('.')
  const last = at(12, 13, 14, 15)
  const isZero = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0)
  if (isZero(0, 4)) return [last] // ::a.b.c.d, ::ffff:a.b.c.d, ::ffff:0:a.b.c.d
  if (first === 0x64 && second === 0xff9b && isZero(2, 6)) return [last]
  // The local prefix may be 48 to 96 bits long. The address follows it, around byte 8 (RFC 6052).
  if (first === 0x64 && second === 0xff9b && third === 1)
    return [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last]
  if (first === 0x2002) return [at(2, 3, 4, 5)]
  if (first === 0x2001 && second === 0) return [at(4, 5, 6, 7), inverted(last)]
  if (groups[5] === 0x5efe && ((groups[4] ?? 0) & ~0x200) === 0) return [last]
  return []
}

/** The eight groups of an address. A URL spells it in the shortest way, and in hexadecimal alone. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const parse = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  if (tail === undefined) return parse(head)
  const [before, after] = [parse(head), parse(tail)]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

/** Teredo stores the address of the client with all bits inverted. */
const inverted = (address: string): string =>
  address
    .split('.')
    .map((byte) => 255 - Number(byte))
    .join('.')
