import { isObject } from '../../kernel/json/json-checks.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import {
  CODES,
  type Era,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  uiIn,
} from '../../mcp/protocol/mcp-constants.ts'
import { type RawJson, withMembers } from '../../mcp/protocol/raw-json.ts'
import type { DiscoveredServer } from '../../servers/shared/catalogues.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { AgentToolLists } from '../catalogue/agent-tool-lists.ts'
import { LIST_TTL_MS, listResult } from '../catalogue/merge-prompts-and-resources.ts'
import { type Incoming, rawParams, refuseCursor } from '../messages/incoming-message.ts'
import { refOf } from '../messages/large-params.ts'
import { asRpcError, RpcError } from '../messages/rpc-error.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import type { RequestContext } from '../notify/request-context.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Approval } from '../pins/pins.ts'
import type { AgentScope, LastPages, Session } from '../sessions/sessions.ts'
import type { AggregateHandler, Forward } from './aggregate-handler.ts'
import { completed } from './modern-fields.ts'
import type { RefusedCalls } from './refused-calls.ts'
import { ToolHandler } from './tool-handler.ts'

interface Deps {
  readonly version: string
  readonly upstreams: Upstreams
  readonly toolLists: AgentToolLists
  readonly aggregate: AggregateHandler
  readonly subscriptions: Subscriptions
  readonly forward: Forward
  readonly lastPages: LastPages
  /** Undefined when nothing is held. */
  readonly approval: Approval | undefined
  readonly refused: RefusedCalls
}

const ROOTS_CHANGED = 'notifications/roots/list_changed'
/** Handles every request of an agent, in both eras. Results are bytes, ready to send. */
export function createRequestHandler(deps: Deps) {
  const { upstreams, aggregate, subscriptions, forward, approval } = deps
  const tools = new ToolHandler(deps)
  const handshakes = createHandshakes(deps)

  /** From the catalogue, which was compared with the approved definitions. */
  async function listPrompts(serverId: string, { params }: Incoming, { era }: RequestContext) {
    refuseCursor(params)
    await upstreams.awake(serverId)
    const prompts = upstreams.get(serverId)?.catalogue?.prompts ?? []
    return listResult(
      'prompts',
      prompts.filter((prompt) => !approval?.isHeldPrompt(serverId, prompt)),
    )[era]
  }

  /** Throws when a request is about a prompt that is not listed or waits for approval. */
  function admitPrompt(serverId: string, { method, params }: Incoming, era: Era): void {
    if (!approval) return
    const ref = refOf(params)
    if (method !== 'prompts/get' && ref.type !== 'ref/prompt') return
    const name = method === 'prompts/get' ? params.name : ref.name
    const isListed = upstreams.get(serverId)?.catalogue?.prompts.some((prompt) => prompt.name === name)
    if (!isListed) throw new RpcError(CODES.params, `Unknown prompt: ${String(name).slice(0, 100)}`)
    try {
      approval.admitPrompt(serverId, String(name))
    } catch (error) {
      throw asRpcError(error, era)
    }
  }

  async function forwardTo(serverId: string, message: Incoming, context: RequestContext): Promise<Buffer> {
    if (approval && message.method === 'prompts/list') return listPrompts(serverId, message, context)
    admitPrompt(serverId, message, context.era)
    const { method = '' } = message
    const params = rawParams(message)
    // What was admitted is sent once, so that no parser can read another name.
    const sent = method === 'prompts/get' ? withMembers(params, { name: message.params.name }) : params
    const result = await forward(method, sent as RawJson, serverId, context)
    return context.era === 'modern' ? completed(result, method) : result.bytes
  }

  /**
   * Whether every request is forwarded: to a server that runs for this client alone, or to a modern server, which keeps no
   * state between requests.
   */
  async function passesAll(serverId: string, { era, options }: RequestContext): Promise<boolean> {
    if (era === 'modern' && (await modernCapabilitiesOf(serverId))) return true
    return (await tools.openFor(serverId, { era, options })) !== undefined
  }

  async function modernCapabilitiesOf(serverId: string): Promise<Params | undefined> {
    try {
      return await upstreams.get(serverId)?.modernCapabilities({ waits: true })
    } catch (error) {
      throw asRpcError(error, 'modern')
    }
  }

  async function handleOther(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { method = '' } = message
    const { serverId, session } = context
    const isModern = context.era === 'modern'
    if (method === 'tools/list') return tools.listTools(message, context)
    if (method === 'ping' && !isModern) return Buffer.from('{}')
    if (method === 'server/discover' && isModern) return handshakes.discover(context)
    if (serverId !== undefined && (await passesAll(serverId, context)))
      return forwardTo(serverId, message, context)
    const subscribed = session && subscriptions.handle(message, subscriberOf(session))
    if (subscribed) return subscribed
    const result = serverId === undefined ? aggregate.handle(message, context) : undefined
    if (result) return result
    if (serverId !== undefined) return forwardTo(serverId, message, context)
    const status = isModern ? 404 : 200
    throw new RpcError(CODES.method, `Method not found: ${method.slice(0, 100)}`, { status })
  }

  return {
    tools,
    handleOther,

    initialize: handshakes.initialize,

    /** Forwards a notification of a session to the servers that run for it alone. */
    notify({ serverId, client }: Session, message: Incoming): void {
      const { method = '' } = message
      const params = rawParams(message)
      if (serverId !== undefined) upstreams.get(serverId)?.notify(client, method, params)
      else if (method === ROOTS_CHANGED)
        for (const upstream of upstreams.all()) upstream.notify(client, method, params)
    },

    /** Ends the servers that run for this session alone. */
    release({ client }: Session): void {
      for (const upstream of upstreams.all()) upstream.release(client)
    },
  }
}
export type RequestHandler = ReturnType<typeof createRequestHandler>

interface HandshakeDeps {
  /** Toolroom's version. */
  readonly version: string
  readonly upstreams: Upstreams
  readonly aggregate: AggregateHandler
}

/** How long agents may cache what a single server declares. */
const SERVER_TTL_MS = 3_600_000

/** The handshakes of both eras: how Toolroom, or the one server of `/mcp/{server_id}`, describes itself to an agent. */
function createHandshakes({ version, upstreams, aggregate }: HandshakeDeps) {
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
