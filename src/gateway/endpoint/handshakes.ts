import { isObject } from '../../kernel/is-object.ts'
import type { Params } from '../../mcp/protocol/call.ts'
import { LEGACY_VERSIONS, META, MODERN_VERSION, uiIn } from '../../mcp/protocol/mcp-constants.ts'
import type { DiscoveredServer } from '../../servers/shared/catalogues.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import { LIST_TTL_MS } from '../catalogue/merge-prompts-and-resources.ts'
import type { AgentScope, Session } from '../sessions/sessions.ts'
import type { AggregateHandler } from './aggregate-handler.ts'
import { asRpcError } from './json-rpc.ts'
import type { RequestContext } from './request-context.ts'

interface Deps {
  /** Toolroom's version. */
  readonly version: string
  readonly upstreams: Upstreams
  readonly aggregate: AggregateHandler
}

/** How long agents may cache what a single server declares. */
const SERVER_TTL_MS = 3_600_000

/** The handshakes of both eras: how Toolroom, or the one server of `/mcp/{server_id}`, describes itself to an agent. */
export function createHandshakes({ version, upstreams, aggregate }: Deps) {
  const serverInfo = { name: 'toolroom', title: 'Toolroom', version }

  /** At `/mcp/{server_id}`, the server's own. */
  function serverInfoFor({ serverId }: AgentScope): object {
    const own = serverId === undefined ? undefined : upstreams.get(serverId)?.catalogue?.server_info
    return own?.name === undefined ? serverInfo : own
  }

  /** What is true for all clients. */
  function capabilitiesFor({ serverId, agentType }: AgentScope): object {
    if (serverId === undefined) return aggregate.capabilities(agentType)
    return sharedCapabilities(upstreams.get(serverId)?.catalogue?.capabilities ?? { tools: {} })
  }

  return {
    /** The result of the legacy handshake. A server that runs for this session alone is started for it. */
    initialize(session: Session): string | Promise<string> {
      const { serverId, client } = session
      const opened = serverId === undefined ? undefined : upstreams.get(serverId)?.openFor(client)
      const ownResult = (own?: DiscoveredServer) => {
        if (own) session.version = own.protocol_version
        return JSON.stringify({
          protocolVersion: session.version,
          capabilities: own?.capabilities ?? capabilitiesFor(session),
          serverInfo: own?.server_info ?? serverInfoFor(session),
          instructions: aggregate.instructions(session, own),
        })
      }
      if (opened === undefined) return ownResult()
      return opened.then(ownResult, (error: unknown) => Promise.reject(asRpcError(error, 'legacy')))
    },

    /** The result of `server/discover`. It is there also when the server cannot be asked, and may change soon then. */
    async discover(context: RequestContext): Promise<Buffer> {
      const { serverId, options } = context
      const upstream = serverId === undefined ? undefined : upstreams.get(serverId)
      const modern = await upstream?.modernCapabilities({}).catch(() => 'unknown' as const)
      const opened = modern === undefined && options.client ? upstream?.openFor(options.client) : undefined
      const own = await opened?.catch(() => undefined) // the next request gets the reason
      const translated = own ? translatedCapabilities(own.capabilities) : capabilitiesFor(context)
      const result = {
        resultType: 'complete',
        supportedVersions: [MODERN_VERSION, ...LEGACY_VERSIONS],
        // A modern server: all of them, because every request passes.
        capabilities: isObject(modern) ? withChangedTools(modern) : translated,
        instructions: aggregate.instructions(context, own),
        ttlMs: upstream && modern !== 'unknown' ? SERVER_TTL_MS : LIST_TTL_MS,
        cacheScope: 'private',
        _meta: { [META.serverInfo]: serverInfoFor(context) },
      }
      return Buffer.from(JSON.stringify(result))
    },
  }
}

/** Of a legacy server that several clients share: what is true for each of them. Other capabilities are left out. */
function sharedCapabilities(own: Params): Params {
  const shared = Object.entries(own).filter(([name]) => SHARED.includes(name))
  const extensions = uiIn(own)
  return withChangedTools({ ...Object.fromEntries(shared), ...(extensions && { extensions }) })
}
const SHARED = ['tools', 'prompts', 'resources', 'completions', 'logging']

/** Toolroom announces changed tools itself, because also its settings change them. */
function withChangedTools(own: Params): Params {
  return isObject(own.tools) ? { ...own, tools: { ...own.tools, listChanged: true } } : own
}

/**
 * Of a legacy server that runs for one modern client alone: all but the tasks of 2025-11-25, which the modern era replaced
 * by an extension.
 */
function translatedCapabilities({ tasks: _, ...own }: Params): Params {
  return own
}
