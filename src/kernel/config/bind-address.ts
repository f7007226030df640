import { isIPv4, isIPv6 } from 'node:net'
import type { Settings } from './settings.ts'

export interface Bind {
  /** Normalised. */
  readonly address: string
  readonly loopback: boolean
}

/** The last label must not be a number: that would be a mistyped address. */
const HOST_NAME =
  /^(?=.{1,253}$)(?!.*(?:^|\.)\d+\.?$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\.?$/i

/**
 * Normalises an address: `0`, `0x0`, `0.0.0.0`, `::`, `[::]` and an empty text mean all addresses, `127.1` means
 * loopback. Every host name except localhost counts as the network, whatever it resolves to.
 * Undefined if the text is neither an address nor a name.
 */
export function bindOf(host: string): Bind | undefined {
  const text = host.trim().replace(/^\[(.*)\]$/, '$1')
  if (text === '') return { address: '0.0.0.0', loopback: false }
  if (/^localhost\.?$/i.test(text)) return { address: '127.0.0.1', loopback: true }
  const ipv4 = isIPv4(text) ? text : looseIPv4(text)
  if (ipv4 !== undefined) return { address: ipv4, loopback: ipv4.startsWith('127.') }
  if (isIPv6(text)) return bindOfIPv6(text)
  return HOST_NAME.test(text) ? { address: text, loopback: false } : undefined
}

function bindOfIPv6(text: string): Bind {
  if (text.includes('%')) return { address: text, loopback: false } // a zone: link-local
  const plain = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain)
  if (!mapped) return { address: plain, loopback: plain === '::1' }
  const number = Number.parseInt(mapped[1] ?? '', 16) * 65_536 + Number.parseInt(mapped[2] ?? '', 16)
  const address = dotted(number)
  return { address, loopback: address.startsWith('127.') }
}

/** An address as inet_aton parses it: 1 to 4 parts, decimal, octal or hexadecimal; the last fills the remaining bytes. */
function looseIPv4(text: string): string | undefined {
  const parts = text.split('.')
  if (parts.length > 4 || !parts.every((part) => /^(?:0x[0-9a-f]+|\d+)$/i.test(part))) return undefined
  const numbers = parts.map((part) => (/^0\d/.test(part) ? Number.parseInt(part, 8) : Number(part)))
  const last = numbers.pop() ?? 0
  if (numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length))) return undefined
  return dotted(numbers.reduce((sum, n, index) => sum + n * 256 ** (3 - index), 0) + last)
}

const dotted = (n: number): string => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].join('.')

/** The host names that requests may use in addition to this computer's own. */
export const hostNamesOf = ({
  allowed_hosts,
  public_url,
}: Pick<Settings, 'allowed_hosts' | 'public_url'>): string[] => [
  ...allowed_hosts,
  ...(public_url === undefined ? [] : [new URL(public_url).host]),
]

/** Warnings for a service that is reachable over the network. */
export function exposure(loopback: boolean, protectReads: boolean): string[] {
  if (loopback) return []
  const plain = 'Toolroom is reachable over the network without encryption; put a TLS proxy in front of it'
  return protectReads ? [plain] : [plain, 'Reads are public; set PROTECT_READS=true to require the token']
}
