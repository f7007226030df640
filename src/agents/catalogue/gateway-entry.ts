import type { Agent } from './agent-record.ts'
import type { Json } from './json-value.ts'
import { readEntry } from './read-entry.ts'
import type { Definition } from './server-definition.ts'

/** The entry through which an agent reaches all servers. */
export const GATEWAY_ENTRY = 'toolroom'

/** How agents on this computer reach the gateway. */
export interface GatewayAddress {
  /** The URL of Toolroom. */
  readonly address: () => string
  /** The data folder, through which a bridge finds Toolroom at any port, and starts it. */
  readonly data: string
  /** Node and our own main file, for agents that accept only local commands. Nothing is downloaded. */
  readonly program: {
    readonly command: string
    readonly mainFile: string
    /** Makes sure that the file exists, now and later. */
    readonly keep: () => Promise<void>
  }
}

interface Entry {
  readonly key: string
  /** One server; null for all. */
  readonly serverId: string | null
  /** A local command that forwards to the gateway, instead of a URL. */
  readonly bridge: boolean
}

const BEARER = 'Bearer tk_'
const KEY = 'TOOLROOM_KEY'
const FIXED = 'TOOLROOM_URL'

export function gatewayEntry(
  { address, data, program }: GatewayAddress,
  { key, serverId, bridge }: Entry,
): Definition {
  if (bridge) {
    const args = [program.mainFile, 'connect', ...(serverId === null ? [] : ['--server', serverId])]
    const env = { [KEY]: key, TOOLROOM_HOME: data }
    return { type: 'stdio', command: program.command, args, env, cwd: null }
  }
  const url = `${address()}/mcp${serverId === null ? '' : `/${serverId}`}`
  return { type: 'http', url, headers: { Authorization: `Bearer ${key}` } }
}

/**
 * Reads an entry that `gatewayEntry` made, also one with the address of an earlier start; undefined for any other. `starts`:
 * its bridge may start Toolroom. Those of earlier versions have an address, and may not.
 */
export function readGatewayEntry(
  definition: Definition | null,
): (Pick<Entry, 'serverId' | 'bridge'> & { readonly starts: boolean }) | undefined {
  if (definition === null) return undefined
  if (definition.type === 'stdio') {
    const at = definition.args.indexOf('--server')
    const serverId = at < 0 ? null : (definition.args[at + 1] ?? null)
    if (definition.env[KEY] === undefined) return undefined
    const starts = definition.env[FIXED] === undefined && !definition.args.includes('--url')
    return { serverId, bridge: true, starts }
  }
  const isOurs = Object.values(definition.headers).some((value) => value.startsWith(BEARER))
  const path = isOurs ? /\/mcp(?:\/([\w.-]+))?$/.exec(definition.url) : null
  return path ? { serverId: path[1] ?? null, bridge: false, starts: false } : undefined
}

/** Whether the value of an entry leads to the gateway. */
export const leadsToGateway = (agent: Agent, name: string, value: Json | undefined): boolean =>
  value !== undefined && readGatewayEntry(readEntry(agent, name, value).definition) !== undefined
