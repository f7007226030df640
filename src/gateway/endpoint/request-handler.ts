import { isObject } from '../../kernel/is-object.ts'
import type { Params } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import type { Era } from '../../protocol/versions.ts'
import type { DiscoveredServer } from '../../upstreams/catalogues.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { AgentToolList, AgentToolLists, OfferedTool } from '../catalogue/agent-tool-lists.ts'
import { listResult } from '../catalogue/merge-prompts-and-resources.ts'
import { resolveInSearchMode, toolNameIn, unknownInSearchMode } from '../catalogue/search-mode-call.ts'
import { serverIn } from '../catalogue/tool-names.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Approval } from '../pins/approval.ts'
import type { AgentScope, Session } from '../sessions/sessions.ts'
import type { AggregateHandler } from './aggregate-handler.ts'
import type { Forward } from './forward.ts'
import { createHandshakes } from './handshakes.ts'
import { asRpcError, type Incoming, RpcError, rawArgumentsIn, refuseCursor } from './json-rpc.ts'
import { completed, modernParamsOf, withoutModernMeta } from './modern-messages.ts'
import { progressTo, type RequestContext } from './request-context.ts'

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

const ROOTS_CHANGED = 'notifications/roots/list_changed'
/** Forwarded to the one server of `/mcp/{server_id}`. */
const FORWARDED = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]
const NOT_FOUND = {
  code: 'not_found',
  hint: 'Check the id at the end of the URL, and in Toolroom which servers this agent may use',
}

/** Handles every request of an agent, in both eras. Results are bytes, ready to send. */
export function createRequestHandler(deps: Deps) {
  const { upstreams, toolLists, aggregate, subscriptions, forward, approval } = deps
  const handshakes = createHandshakes(deps)

  /** The description and the tools of the server, if it runs for this client alone. Only at `/mcp/{server_id}`. */
  const ownCatalogueOf = ({ serverId, options }: RequestContext): DiscoveredServer | undefined =>
    serverId === undefined || !options.client
      ? undefined
      : upstreams.get(serverId)?.ownCatalogue(options.client)

  const toolListFor = (context: RequestContext): AgentToolList => {
    const { serverId, agentType } = context
    const own = ownCatalogueOf(context)
    const list =
      own && serverId !== undefined
        ? toolLists.ofInstance(serverId, agentType, own.tools)
        : toolLists.of(serverId, agentType)
    if (!list) throw noServer(context)
    return list
  }

  /** A server that the agent may not use gets the same error as one that does not exist. */
  function noServer({ serverId = '', agentType }: AgentScope): RpcError {
    const { status, settings } = upstreams.get(serverId) ?? {}
    const isDisabled = status === 'disabled' && settings?.expose && toolLists.mayUse(serverId, agentType)
    const id = serverId.slice(0, 100)
    const [message, data] = isDisabled
      ? [`The server '${id}' is disabled`, { code: 'server_not_running', hint: 'Enable it in Toolroom' }]
      : [`Server not found: this agent may use no server with the id '${id}'`, NOT_FOUND]
    return new RpcError(CODES.request, message, { status: 404, data })
  }

  /**
   * The tool of a call that the list does not have. The server is asked again, because its last result may have announced
   * the tool. If its tools are not known at all, it is started; if it cannot list them, the call is passed on.
   */
  async function resolveLate({ params }: Incoming, list: AgentToolList, context: RequestContext) {
    const { name, arguments: given = {} } = params
    const { serverId, agentType } = context
    const wanted = toolNameIn(list, name, given)
    const owner = serverId === undefined ? serverIn(wanted, list.servers) : { id: serverId, tool: wanted }
    const upstream = owner && upstreams.get(owner.id)
    if (!upstream) return undefined
    // A server that runs for this client alone answers for itself.
    if (ownCatalogueOf(context)) return toolCall(toolLists.unlisted(owner.id, owner.tool, agentType), given)
    if (upstream.catalogue) await upstreams.refreshFor(owner.id, owner.tool)
    else if (!upstream.isUnlisted)
      await known(upstream, context).catch((error: unknown) => {
        if (!upstream.isUnlisted) throw error
      })
    const resolved = resolveCall(toolListFor(context), name, given)
    if (resolved || upstream.catalogue || list.mode === 'search') return resolved
    if (approval)
      throw new RpcError(
        CODES.internal,
        `The tools of '${owner.id}' could not be listed, so none is approved`,
        {
          data: { code: 'tool_held' },
        },
      )
    return toolCall(toolLists.unlisted(owner.id, owner.tool, agentType), given)
  }

  /** Waits until the tools of a server are known. Rejects with the error that the agent gets. */
  async function known(upstream: Upstream, { options, era }: RequestContext): Promise<void> {
    if (upstream.catalogue) return
    try {
      await upstream.refresh({ options, waits: true })
    } catch (error) {
      throw asRpcError(error, era)
    }
  }

  async function callTool(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { params, body } = message
    const { name, arguments: given = {} } = params
    const list = toolListFor(context)
    const resolved =
      resolveCall(list, name, given) ??
      (await resolveLate(message, list, context)) ??
      unknownInSearchMode(list, name, given)
    if (!resolved) throw new RpcError(CODES.params, `Unknown tool: ${String(name).slice(0, 100)}`)
    const isModern = context.era === 'modern'
    if (resolved.kind === 'result') {
      const json = Buffer.from(JSON.stringify(resolved.result))
      return isModern ? completed({ json, value: resolved.result }, 'tools/call') : json
    }
    const { server_id: serverId, tool } = resolved.found
    const { args } = resolved
    const meta = params._meta === undefined ? undefined : metaOf(withoutModernMeta(params))
    const progressToken = meta?.progressToken
    const modernParams = isModern
      ? { ...modernParamsOf(params, context), name: tool, ...(args !== given && { arguments: args }) }
      : undefined
    const logs = isModern ? subscriptions.logsDuring(serverId, params, context) : undefined
    const stopLogs = logs && (await logs)
    try {
      const result = await upstreams.call(serverId, {
        tool,
        args,
        by: { request_id: context.requestId, agent_type: context.agentType },
        waits: true,
        admit: approval && (() => approval.admitTool(serverId, tool)),
        options: {
          onProgress: progressToken === undefined ? undefined : progressTo(context, progressToken),
          modernParams,
          meta: meta && withoutProgressToken(meta),
          rawArguments: args === params.arguments ? rawArgumentsIn(body) : undefined,
          extraParams: ownCatalogueOf(context) && extraParamsOf(params),
          ...context.options,
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

  /** From the catalogue, which was compared with the approved definitions. */
  async function listPrompts(serverId: string, { params }: Incoming, { era }: RequestContext) {
    refuseCursor(params)
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
    const result = await forward(message, serverId, context)
    return context.era === 'modern' ? completed(result, message.method ?? '') : result.json
  }

  async function listTools({ params }: Incoming, context: RequestContext): Promise<Buffer> {
    refuseCursor(params)
    const { serverId, era } = context
    const only = serverId === undefined ? undefined : upstreams.get(serverId)
    const own = only && (await openFor(only.id, context))
    if (only && !own) await known(only, context)
    else if (!own) await upstreams.wake(toolListFor(context).servers)
    const { result, mode } = toolListFor(context)
    const meta = (own ?? only?.catalogue)?.meta
    return meta && mode === 'full' ? withMember(result[era], '_meta', meta) : result[era]
  }

  /**
   * Whether every request is forwarded: to a server that runs for this client alone, or to a modern server, which keeps no
   * state between requests.
   */
  async function isForwarded(serverId: string, { era, options }: RequestContext): Promise<boolean> {
    if (era === 'modern' && (await modernCapabilitiesOf(serverId))) return true
    return (await openFor(serverId, { era, options })) !== undefined
  }

  async function modernCapabilitiesOf(serverId: string): Promise<Params | undefined> {
    try {
      return await upstreams.get(serverId)?.modernCapabilities({ waits: true })
    } catch (error) {
      throw asRpcError(error, 'modern')
    }
  }

  /** Starts the server, if it runs for this client alone. */
  async function openFor(serverId: string, { era, options }: Pick<RequestContext, 'era' | 'options'>) {
    try {
      return options.client && (await upstreams.get(serverId)?.openFor(options.client))
    } catch (error) {
      throw asRpcError(error, era)
    }
  }

  async function handleOther(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { method = '' } = message
    const { serverId, session } = context
    const isModern = context.era === 'modern'
    if (method === 'tools/list') return listTools(message, context)
    if (method === 'ping' && !isModern) return Buffer.from('{}')
    if (method === 'server/discover' && isModern) return handshakes.discover(context)
    if (serverId !== undefined && (FORWARDED.includes(method) || (await isForwarded(serverId, context))))
      return forwardTo(serverId, message, context)
    const subscribed = session && subscriptions.handle(message, subscriberOf(session))
    if (subscribed) return subscribed
    const result = serverId === undefined ? aggregate.handle(message, context) : undefined
    if (result) return result
    const status = isModern ? 404 : 200
    throw new RpcError(CODES.method, `Method not found: ${method.slice(0, 100)}`, { status })
  }

  return {
    noServer,

    hasServer: ({ serverId, agentType }: AgentScope) => toolLists.of(serverId, agentType) !== undefined,

    initialize: handshakes.initialize,

    /** Forwards a notification of a session to the servers that run for it alone. */
    notify({ serverId, client }: Session, method: string, params: Params): void {
      if (serverId !== undefined) upstreams.get(serverId)?.notify(client, method, params)
      else if (method === ROOTS_CHANGED)
        for (const upstream of upstreams.all()) upstream.notify(client, method, params)
    },

    /** Ends the servers that run for this session alone. */
    release({ client }: Session): void {
      for (const upstream of upstreams.all()) upstream.release(client)
    },

    handle: (message: Incoming, context: RequestContext): Promise<Buffer> =>
      message.method === 'tools/call' ? callTool(message, context) : handleOther(message, context),
  }
}
export type RequestHandler = ReturnType<typeof createRequestHandler>

/** Occurs in the JSON of every content item that mentions a resource: `"resource"` and `"resource_link"`. */
const RESOURCE = '"resource'

/** The params of a tool call that Toolroom does not know, such as `task`. */
function extraParamsOf({ name: _, arguments: __, _meta: ___, ...extra }: Params): Params {
  return extra
}

/** Undefined when nothing is left. The token is replaced by one of ours. */
function withoutProgressToken({ progressToken: _, ...meta }: Params): Params | undefined {
  return Object.keys(meta).length > 0 ? meta : undefined
}

/** An object in JSON with one more member. */
function withMember(json: Buffer, name: string, value: unknown): Buffer {
  return Buffer.concat([json.subarray(0, -1), Buffer.from(`,"${name}":${JSON.stringify(value)}}`)])
}

const resolveCall = (list: AgentToolList, name: unknown, args: unknown) =>
  list.mode === 'search' ? resolveInSearchMode(list, name, args) : toolCall(list.find(String(name)), args)

function toolCall(found: OfferedTool | undefined, args: unknown) {
  return found && { kind: 'call' as const, found, args }
}
