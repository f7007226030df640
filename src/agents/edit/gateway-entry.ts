import type { Definition } from '../catalogue/definition.ts'

/** What an entry needs to lead to the gateway. */
export interface Ways {
  /** Where agents on this computer reach Toolroom. */
  readonly address: () => string
  /** Node and our own main file: what an agent starts that takes only local commands. Never a package to be fetched. */
  readonly program: { readonly command: string; readonly mainFile: string }
}

interface Entry {
  readonly key: string
  /** One server; null for all of them. */
  readonly serverId: string | null
  /** By a local command instead of an address. */
  readonly bridge: boolean
}

const BEARER = 'Bearer tk_'
const KEY = 'TOOLROOM_KEY'

export function gatewayEntry({ address, program }: Ways, { key, serverId, bridge }: Entry): Definition {
  if (bridge) {
    const args = [program.mainFile, 'connect', ...(serverId === null ? [] : ['--server', serverId])]
    const env = { [KEY]: key, TOOLROOM_URL: address() }
    return { type: 'stdio', command: program.command, args, env, cwd: null }
  }
  const url = `${address()}/mcp${serverId === null ? '' : `/${serverId}`}`
  return { type: 'http', url, headers: { Authorization: `Bearer ${key}` } }
}

/** Where an entry leads, if it is one of those above; the address may be that of an earlier start. */
export function readGatewayEntry(
  definition: Definition | null,
): Pick<Entry, 'serverId' | 'bridge'> | undefined {
  if (definition === null) return undefined
  if (definition.type === 'stdio') {
    const at = definition.args.indexOf('--server')
    const serverId = at < 0 ? null : (definition.args[at + 1] ?? null)
    return definition.env[KEY] === undefined ? undefined : { serverId, bridge: true }
  }
  const isOurs = Object.values(definition.headers).some((value) => value.startsWith(BEARER))
  const path = isOurs ? /\/mcp(?:\/([\w.-]+))?$/.exec(definition.url) : null
  return path ? { serverId: path[1] ?? null, bridge: false } : undefined
}
