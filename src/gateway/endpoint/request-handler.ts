import { isObject } from '../../kernel/is-object.ts'
import { memberOf, type RawJson, textOf, withMembers } from '../../kernel/json/raw-json.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META, META_PREFIX } from '../../protocol/meta.ts'
import { type Era, LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/versions.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { AgentToolList, AgentToolLists } from '../catalogue/agent-tool-lists.ts'
import { LIST_TTL_MS, listResult } from '../catalogue/merge-prompts-and-resources.ts'
import { resolveInSearchMode } from '../catalogue/search-mode-call.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Approval } from '../pins/approval.ts'
import type { AgentScope } from '../sessions/sessions.ts'
import type { AggregateHandler } from './aggregate-handler.ts'
import type { Forward } from './forward.ts'
import { asRpcError, type Incoming, invalidRequest, RpcError, rawParam, rawParams } from './json-rpc.ts'
import { completed, withoutModernKeys } from './modern-messages.ts'
import { progressTo, progressTokenIn, type RequestContext } from './request-context.ts'

interface Deps {
  readonly version: string
  readonly upstreams: Upstreams
  readonly toolLists: AgentToolLists
  readonly aggregate: AggregateHandler
  readonly subscriptions: Subscriptions
  readonly forward: Forward
  /** Undefined when nothing is held. */
  readonly approval: Approval | undefined
}

/** Forwarded to the one server of `/mcp/{server_id}`. */
const FORWARDED = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]
/** How long agents may cache what a single server declares. */
const SERVER_TTL_MS = 3_600_000

/** Handles every request of an agent, in both eras. Results are bytes, ready to send. */
export function createRequestHandler(deps: Deps) {
  const { version, upstreams, toolLists, aggregate, subscriptions, forward, approval } = deps
  const serverInfo = { name: 'toolroom', title: 'Toolroom', version }

  const toolListFor = ({ serverId, agentType }: AgentScope): AgentToolList => {
    const list = toolLists.of(serverId, agentType)
    if (!list) throw invalidRequest('Server not found', 404)
    return list
  }

  async function callTool(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { params } = message
    const { name, arguments: given = {} } = params
    if (!isObject(given)) throw new RpcError(CODES.params, 'arguments must be an object')
    const list = toolListFor(context)
    const found = list.mode === 'search' ? undefined : list.find(String(name))
    const resolved = found
      ? { kind: 'call' as const, found, args: given }
      : resolveInSearchMode(list, name, given)
    if (!resolved) throw new RpcError(CODES.params, `Unknown tool: ${String(name).slice(0, 100)}`)
    const isModern = context.era === 'modern'
    if (resolved.kind === 'result') {
      const json = Buffer.from(textOf(resolved.result))
      return isModern ? completed({ json, value: resolved.result }, 'tools/call') : json
    }
    const { server_id: serverId, tool } = resolved.found
    const args = rawParam(message, 'arguments')
    const isInner = resolved.args !== given // of `call_tool`
    const sent = (isInner ? memberOf(args, 'arguments') : args) ?? {}
    const hasToken = params._meta !== undefined && metaOf(params).progressToken !== undefined
    const modernParams = isModern
      ? {
          requestState: params.requestState,
          raw: () => withMembers(rawParams(message), { name: tool, ...(isInner && { arguments: sent }) }),
        }
      : undefined
    const logs = isModern ? subscriptions.logsDuring(serverId, params, context) : undefined
    const stopLogs = logs && (await logs)
    try {
      const result = await upstreams.call(serverId, {
        tool,
        args: sent,
        by: { request_id: context.requestId, agent_type: context.agentType },
        waits: true,
        admit: approval && (() => approval.admitTool(serverId, tool)),
        options: {
          onProgress: hasToken ? progressTo(context, progressTokenIn(rawParams(message))) : undefined,
          modernParams,
          meta: params._meta === undefined ? undefined : ownMeta(message),
          ...context.options,
        },
      })
      const mentions = context.serverId === undefined && result.json.includes(RESOURCE)
      const shown = mentions ? aggregate.recordResources(serverId, result, context.agentType) : result
      return isModern ? completed(shown, 'tools/call') : shown.json
    } catch (error) {
      throw asRpcError(error, context.era)
    } finally {
      stopLogs?.()
    }
  }

  function capabilitiesFor({ serverId, agentType }: AgentScope, era: Era): object {
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

  /** From the catalogue, which was compared with the approved definitions. */
  async function listPrompts(serverId: string, { params }: Incoming, { era }: RequestContext) {
    if (params.cursor !== undefined) throw new RpcError(CODES.params, 'Unknown cursor')
    await upstreams.wake([serverId])
    const prompts = upstreams.get(serverId)?.catalogue?.prompts ?? []
    return listResult(
      'prompts',
      prompts.filter((prompt) => !approval?.isHeldPrompt(serverId, prompt)),
    )[era]
  }

  /** Throws when a request is about a prompt that is not listed or waits for approval. */
  function admitPrompt(serverId: string, { method, params }: Incoming, era: Era): void {
    const ref = isObject(params.ref) && params.ref.type === 'ref/prompt' ? params.ref : undefined
    const name = method === 'prompts/get' ? params.name : ref?.name
    if (!approval || (method !== 'prompts/get' && !ref)) return
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
    return context.era === 'modern' ? completed(result, method) : result.json
  }

  async function listTools({ params }: Incoming, context: RequestContext): Promise<Buffer> {
    if (params.cursor !== undefined) throw new RpcError(CODES.params, 'Unknown cursor')
    await upstreams.wake(toolListFor(context).servers)
    return toolListFor(context).result[context.era]
  }

  const discovered = (context: RequestContext) => ({
    resultType: 'complete',
    supportedVersions: [MODERN_VERSION, ...LEGACY_VERSIONS],
    capabilities: capabilitiesFor(context, 'modern'),
    instructions: aggregate.instructions(context),
    ttlMs: context.serverId === undefined ? LIST_TTL_MS : SERVER_TTL_MS,
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
    hasServer: ({ serverId, agentType }: AgentScope) => toolLists.of(serverId, agentType) !== undefined,

    /** The legacy handshake. */
    initialize({ params }: Incoming, scope: AgentScope): { version: string; result: string } {
      const protocolVersion =
        LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? LEGACY_VERSIONS[0]
      const capabilities = capabilitiesFor(scope, 'legacy')
      const instructions = aggregate.instructions(scope)
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

/** The agent's own `_meta`. Undefined when it has only keys of the modern era, like that of most modern agents. */
function ownMeta(message: Incoming): unknown {
  for (const name in metaOf(message.params))
    if (!name.startsWith(META_PREFIX)) return withoutModernKeys(rawParam(message, '_meta'))
  return undefined
}

const listChangedOf = (capability: unknown): object =>
  isObject(capability) && capability.listChanged === true ? { listChanged: true } : {}
