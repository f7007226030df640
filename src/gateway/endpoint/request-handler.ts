import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { type Era, LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/versions.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { Aggregate } from '../catalogue/aggregate.ts'
import type { Offer, Offers } from '../catalogue/offers.ts'
import { type ResolvedTool, resolveInSearchMode } from '../catalogue/tool-search-calls.ts'
import { subscriberOf } from '../notify/session-subscriber.ts'
import type { Subscriptions } from '../notify/subscriptions.ts'
import { asRpcError, type Forward } from './forward.ts'
import { type Incoming, RpcError, rawArgumentsIn } from './json-rpc.ts'
import { completed, withoutEra } from './modern-requests.ts'
import { progressTo, type RequestContext } from './request-context.ts'

export interface HandlerDeps {
  readonly version: string
  readonly upstreams: Upstreams
  /** The tools that each agent sees. */
  readonly offers: Offers
  readonly aggregate: Aggregate
  readonly subscriptions: Subscriptions
  readonly forward: Forward
  /** Throws when a tool must not be called. Undefined when all may be. */
  readonly admit: ((serverId: string, tool: string) => void) | undefined
}

type Place = Pick<RequestContext, 'serverId' | 'agentType'>

/** Forwarded to the one server of `/mcp/{server_id}`. */
const FORWARDED = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]
const AGGREGATE_TTL_MS = 60_000
const SERVER_TTL_MS = 3_600_000

/** Handles every request of an agent, in both eras. Results are bytes, ready to send. */
export function createRequestHandler(deps: HandlerDeps) {
  const { upstreams, offers, aggregate, subscriptions, forward, admit } = deps
  const serverInfo = { name: 'toolroom', title: 'Toolroom', version: deps.version }

  const offerFor = ({ serverId, agentType }: Place): Offer => {
    const offer = offers.of(serverId, agentType)
    if (!offer) throw new RpcError(CODES.request, 'Server not found', { status: 404 })
    return offer
  }

  async function callTool({ params, body }: Incoming, context: RequestContext): Promise<Buffer> {
    const { name, arguments: given = {} } = params
    if (!isObject(given)) throw new RpcError(CODES.params, 'arguments must be an object')
    const offer = offerFor(context)
    const resolved =
      offer.mode === 'search' ? resolveInSearchMode(offer, name, given) : toolNamed(offer, name, given)
    if (!resolved) throw new RpcError(CODES.params, `Unknown tool: ${String(name).slice(0, 100)}`)
    const isModern = context.era === 'modern'
    if (resolved.kind === 'result') return ownResult(resolved.result, isModern)
    const { server_id: serverId, tool } = resolved.found
    const { args } = resolved
    const { progressToken, ...meta } = params._meta === undefined ? NO_META : metaOf(withoutEra(params))
    const modernParams = isModern
      ? { ...params, name: tool, ...(args !== given && { arguments: args }) }
      : undefined
    const logs = isModern ? subscriptions.logsDuring(serverId, params, context) : undefined
    const stopLogs = logs && (await logs)
    try {
      const result = await upstreams.call(serverId, {
        tool,
        args,
        by: { request_id: context.requestId, agent_type: context.agentType },
        waits: true,
        admit: admit && (() => admit(serverId, tool)),
        options: {
          ...context.options,
          onProgress: progressToken === undefined ? undefined : progressTo(context, progressToken),
          modernParams,
          meta: Object.keys(meta).length > 0 ? meta : undefined,
          rawArguments: args === params.arguments ? rawArgumentsIn(body) : undefined,
        },
      })
      const mentions = context.serverId === undefined && result.json.includes(RESOURCE)
      const sent = mentions ? aggregate.recordResources(serverId, result, context.agentType) : result
      return isModern ? completed(sent, 'tools/call') : sent.json
    } catch (error) {
      throw asRpcError(error, context.era)
    } finally {
      stopLogs?.()
    }
  }

  function capabilitiesFor({ serverId, agentType }: Place, era: Era): object {
    if (serverId === undefined) return aggregate.capabilities(agentType, era)
    const own = upstreams.get(serverId)?.catalogue?.capabilities ?? {}
    const { resources, prompts, completions, logging } = own
    return {
      tools: { listChanged: true },
      ...(resources !== undefined && { resources }),
      ...(prompts !== undefined && { prompts: listChangedOf(prompts) }),
      ...(completions !== undefined && { completions: {} }),
      ...(logging !== undefined && era === 'legacy' && { logging: {} }),
    }
  }

  async function forwardTo(serverId: string, message: Incoming, context: RequestContext): Promise<Buffer> {
    const stopLogs = await subscriptions.logsDuring(serverId, message.params, context)
    try {
      const result = await forward(message, serverId, context)
      return context.era === 'modern' ? completed(result, message.method ?? '') : result.json
    } finally {
      stopLogs?.()
    }
  }

  async function listTools({ params }: Incoming, context: RequestContext): Promise<Buffer> {
    if (params.cursor !== undefined) throw new RpcError(CODES.params, 'Unknown cursor')
    await upstreams.wake(offerFor(context).servers)
    return Buffer.from(offerFor(context).list[context.era])
  }

  const discovered = (context: RequestContext) => ({
    resultType: 'complete',
    supportedVersions: [MODERN_VERSION, ...LEGACY_VERSIONS],
    capabilities: capabilitiesFor(context, 'modern'),
    instructions: aggregate.instructions(context.serverId, context.agentType),
    ttlMs: context.serverId === undefined ? AGGREGATE_TTL_MS : SERVER_TTL_MS,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfo },
  })

  async function handleOther(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { method = '' } = message
    const { serverId, session } = context
    const isModern = context.era === 'modern'
    if (method === 'tools/list') return listTools(message, context)
    if (method === 'ping' && !isModern) return Buffer.from('{}')
    if (method === 'server/discover' && isModern) return Buffer.from(JSON.stringify(discovered(context)))
    const subscribed = session && subscriptions.handle(message, subscriberOf(session))
    if (subscribed) return subscribed
    const result = serverId === undefined ? aggregate.handle(message, context) : undefined
    if (result) return result
    if (serverId !== undefined && FORWARDED.includes(method)) return forwardTo(serverId, message, context)
    const status = isModern ? 404 : 200
    throw new RpcError(CODES.method, `Method not found: ${method.slice(0, 100)}`, { status })
  }

  return {
    hasServer: ({ serverId, agentType }: Place) => offers.of(serverId, agentType) !== undefined,

    /** The legacy handshake. */
    initialize({ params }: Incoming, place: Place): { version: string; result: string } {
      const protocolVersion =
        LEGACY_VERSIONS.find((version) => version === params.protocolVersion) ?? LEGACY_VERSIONS[0]
      const capabilities = capabilitiesFor(place, 'legacy')
      const instructions = aggregate.instructions(place.serverId, place.agentType)
      const result = { protocolVersion, capabilities, serverInfo, instructions }
      return { version: protocolVersion, result: JSON.stringify(result) }
    },

    handle: (message: Incoming, context: RequestContext): Promise<Buffer> =>
      message.method === 'tools/call' ? callTool(message, context) : handleOther(message, context),
  }
}
export type RequestHandler = ReturnType<typeof createRequestHandler>

/** Occurs in the JSON of every content item that mentions a resource: `"resource"` and `"resource_link"`. */
const RESOURCE = '"resource'
const NO_META: Readonly<Record<string, unknown>> = {}

function toolNamed(offer: Offer, name: unknown, args: unknown): ResolvedTool {
  const found = typeof name === 'string' ? offer.find(name) : undefined
  return found && { kind: 'call', found, args }
}

/** A result of our own. */
function ownResult(result: object, isModern: boolean): Buffer {
  const json = Buffer.from(JSON.stringify(result))
  return isModern ? completed({ json, value: result }, 'tools/call') : json
}

const listChangedOf = (capability: unknown): object =>
  isObject(capability) && capability.listChanged === true ? { listChanged: true } : {}
