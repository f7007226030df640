import { AppError } from '../../kernel/errors.ts'
import { CallResult, metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import { CODES, META_PREFIX } from '../../mcp/protocol/mcp-constants.ts'
import { memberOf, withMembers } from '../../mcp/protocol/raw-json.ts'
import type { DiscoveredServer } from '../../servers/shared/catalogues.ts'
import type { Upstream } from '../../servers/shared/upstream.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { AgentToolList, AgentToolLists, OfferedTool } from '../catalogue/agent-tool-lists.ts'
import { resolveInSearchMode, toolNameIn, unknownInSearchMode } from '../catalogue/search-mode-call.ts'
import { serverIn } from '../catalogue/tool-names.ts'
import { FIND_TOOLS } from '../catalogue/tool-search-index.ts'
import { type Incoming, rawParam, rawParams, refuseCursor } from '../messages/incoming-message.ts'
import { asRpcError, RpcError } from '../messages/rpc-error.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { progressTo, progressTokenIn, type RequestContext } from '../notify/request-context.ts'
import type { Approval } from '../pins/pins.ts'
import type { AgentScope, LastPages } from '../sessions/sessions.ts'
import type { AggregateHandler } from './aggregate-handler.ts'
import { completed, modernParamsOf, withoutModernKeys } from './modern-fields.ts'
import type { RefusedCalls } from './refused-calls.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly toolLists: AgentToolLists
  readonly aggregate: AggregateHandler
  readonly subscriptions: Subscriptions
  readonly lastPages: LastPages
  /** Undefined when nothing is held. */
  readonly approval: Approval | undefined
  readonly refused: RefusedCalls
}

const HELD = { code: 'server_not_running', hint: 'A person allows it in Toolroom' }
const NOT_FOUND = {
  code: 'not_found',
  hint: 'Check the id at the end of the URL, and in Toolroom which servers this agent may use',
}

/** Handles `tools/list` and `tools/call`, in both eras. */
export class ToolHandler {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The description and the tools of the server, if it runs for this client alone. Only at `/mcp/{server_id}`. */
  #ownCatalogueOf({ serverId, options }: RequestContext): DiscoveredServer | undefined {
    if (serverId === undefined || !options.client) return undefined
    return this.#deps.upstreams.get(serverId)?.ownCatalogue(options.client)
  }

  #toolListFor(context: RequestContext): AgentToolList {
    const { serverId, agentType } = context
    const own = this.#ownCatalogueOf(context)
    const list =
      own && serverId !== undefined
        ? this.#deps.toolLists.ofInstance(serverId, agentType, own.tools)
        : this.#deps.toolLists.of(serverId, agentType)
    if (!list) throw this.noServer(context)
    return list
  }

  /** A server that the agent may not use gets the same error as one that does not exist. */
  noServer({ serverId = '', agentType }: AgentScope): RpcError {
    const { status, settings, trouble } = this.#deps.upstreams.get(serverId) ?? {}
    const isHeld = typeof trouble === 'object' && trouble.kind === 'not_allowed'
    const isDisabled =
      status === 'disabled' && settings?.expose && this.#deps.toolLists.mayUse(serverId, agentType)
    const id = serverId.slice(0, 100)
    const [message, data] = isDisabled
      ? isHeld
        ? [`The server '${id}' is off until a person allows what it would get`, HELD]
        : [`The server '${id}' is disabled`, { code: 'server_not_running', hint: 'Enable it in Toolroom' }]
      : [`Server not found: this agent may use no server with the id '${id}'`, NOT_FOUND]
    return new RpcError(CODES.request, message, { status: 404, data })
  }

  /**
   * The tool that has this name on its server, if only one server has such a tool or the client shows the page of one. A page
   * does not know the names at the gateway.
   */
  #ownNamed(list: AgentToolList, name: unknown, context: RequestContext): OfferedTool | undefined {
    const named = list.ownNamed(String(name))
    if (named.length < 2) return named[0]
    const pageServer = this.#deps.lastPages.serverOf(context)
    return named.find(({ server_id }) => server_id === pageServer)
  }

  /** The server that the name of a tool points to. A name without a server belongs to the page that was read last. */
  #ownerOf(wanted: string, { servers }: AgentToolList, context: RequestContext) {
    const { serverId } = context
    if (serverId !== undefined) return { id: serverId, tool: wanted }
    const pageServer = this.#deps.lastPages.serverOf(context)
    const isVisible = pageServer !== undefined && servers.includes(pageServer)
    return serverIn(wanted, servers) ?? (isVisible ? { id: pageServer, tool: wanted } : undefined)
  }

  /**
   * The tool of a call that the list does not have. The server is asked again, because its last result may have announced
   * the tool. If its tools are not known at all, it is started; if it cannot list them, the call is passed on.
   */
  async #resolveLate({ params }: Incoming, list: AgentToolList, context: RequestContext) {
    const { name, arguments: given = {} } = params
    const { agentType } = context
    const owner = this.#ownerOf(toolNameIn(list, name, given), list, context)
    const upstream = owner && this.#deps.upstreams.get(owner.id)
    if (!upstream) return undefined
    // A server that runs for this client alone answers for itself.
    if (this.#ownCatalogueOf(context))
      return toolCall(this.#deps.toolLists.unlisted(owner.id, owner.tool, agentType), given)
    if (upstream.catalogue) await this.#deps.upstreams.refreshFor(owner.id, owner.tool)
    else if (!upstream.isUnlisted)
      await this.#known(upstream, context).catch((error: unknown) => {
        if (!upstream.isUnlisted) throw error
      })
    const fresh = this.#toolListFor(context)
    const resolved = resolveCall(fresh, name, given) ?? toolCall(this.#ownNamed(fresh, name, context), given)
    if (resolved || upstream.catalogue || list.mode === 'search') return resolved
    const held = `The tools of '${owner.id}' could not be listed, so none is approved`
    if (this.#deps.approval) throw new RpcError(CODES.internal, held, { data: { code: 'tool_held' } })
    return toolCall(this.#deps.toolLists.unlisted(owner.id, owner.tool, agentType), given)
  }

  /** Waits until the tools of a server are known. Rejects with the error that the agent gets. */
  async #known(upstream: Upstream, { options, era }: RequestContext): Promise<void> {
    if (upstream.catalogue) return
    try {
      await upstream.refresh({ options, waits: true })
    } catch (error) {
      throw asRpcError(error, era)
    }
  }

  async callTool(message: Incoming, context: RequestContext): Promise<Buffer | string> {
    const { params } = message
    const { name, arguments: given = {} } = params
    const isModern = context.era === 'modern'
    const { approval } = this.#deps
    let resolved: ReturnType<typeof resolveCall>
    try {
      const list = this.#toolListFor(context)
      if (list.mode === 'search' && name === FIND_TOOLS) await list.prepareSearch()
      resolved =
        resolveCall(list, name, given) ??
        toolCall(this.#ownNamed(list, name, context), given) ??
        (await this.#resolveLate(message, list, context)) ??
        unknownInSearchMode(list, name, given)
      if (!resolved) throw unknownTool(list, String(name))
    } catch (error) {
      this.#deps.refused(message, context, error)
      return loginNeeded(error, isModern)
    }
    if (resolved.kind === 'result') {
      const { error } = resolved
      if (error)
        this.#deps.refused(message, context, new RpcError(CODES.params, error.message, { data: error }))
      const result = CallResult.of(resolved.result)
      return isModern ? completed(result, 'tools/call') : result.bytes
    }
    const { server_id: serverId, tool } = resolved.found
    const { requestId, agentType, session } = context
    const args = rawParam(message, 'arguments')
    const isInner = resolved.args !== given // of `call_tool`
    const sent = isInner ? memberOf(args, 'arguments') : args
    const hasToken = params._meta !== undefined && metaOf(params).progressToken !== undefined
    const modernParams = isModern
      ? {
          requestState: params.requestState,
          raw: () =>
            withMembers(modernParamsOf(rawParams(message), context), {
              name: tool,
              ...(isInner && { arguments: sent }),
            }),
        }
      : undefined
    const logs = isModern ? this.#deps.subscriptions.logsDuring(serverId, params, context) : undefined
    const stopLogs =
      logs &&
      (await logs.catch((error: unknown) => {
        this.#deps.refused(message, context, error)
        throw error
      }))
    try {
      const result = await this.#deps.upstreams.call(serverId, {
        tool,
        args: sent,
        by: { request_id: requestId, agent_type: agentType, session_id: session?.id },
        waits: true,
        admit: approval && (() => approval.admitTool(serverId, tool)),
        options: {
          onProgress: hasToken ? progressTo(context, progressTokenIn(rawParams(message))) : undefined,
          modernParams,
          meta: params._meta === undefined ? undefined : ownMeta(message),
          extraParams: extraParamsOf(message, !isModern && this.#ownCatalogueOf(context) !== undefined),
          ...context.options,
        },
      })
      const mentions = context.serverId === undefined && (result.includes(RESOURCE) || result.includes(PAGE))
      const shown = mentions ? this.#deps.aggregate.recordResources(serverId, result, agentType) : result
      return isModern ? completed(shown, 'tools/call') : shown.written
    } catch (error) {
      return loginNeeded(asRpcError(error, context.era), isModern)
    } finally {
      stopLogs?.()
    }
  }

  async listTools({ params }: Incoming, context: RequestContext): Promise<Buffer> {
    refuseCursor(params)
    const { serverId, era } = context
    const only = serverId === undefined ? undefined : this.#deps.upstreams.get(serverId)
    const own = only && (await this.openFor(only.id, context))
    if (only && !own) await this.#known(only, context)
    else if (!own) this.#deps.upstreams.wake(this.#toolListFor(context).servers)
    const { result, mode } = this.#toolListFor(context)
    const meta = (own ?? only?.catalogue)?.meta
    return meta && mode === 'full' ? withMember(result[era], '_meta', meta) : result[era]
  }

  /** Starts the server, if it runs for this client alone. */
  async openFor(serverId: string, { era, options }: Pick<RequestContext, 'era' | 'options'>) {
    try {
      return options.client && (await this.#deps.upstreams.get(serverId)?.openFor(options.client))
    } catch (error) {
      throw asRpcError(error, era)
    }
  }

  hasServer({ serverId, agentType }: AgentScope): boolean {
    return this.#deps.toolLists.of(serverId, agentType) !== undefined
  }
}

/** Throws any error but one about a missing login. */
function loginNeeded(error: unknown, isModern: boolean): Buffer {
  const result = loginNeededResult(error)
  if (!result) throw error
  return isModern ? completed(result, 'tools/call') : result.bytes
}

/** Occurs in the JSON of every content item that mentions a resource: `"resource"` and `"resource_link"`. */
const RESOURCE = '"resource'
/** Occurs in the JSON of every result whose `_meta` names a page: `"ui://…"` and `"ui:\\/\\/…"`. */
const PAGE = '"ui:'

function unknownTool(list: AgentToolList, name: string): RpcError {
  const message = `Unknown tool: ${name.slice(0, 100)}`
  const named = list.ownNamed(name).slice(0, MAX_NAMED)
  if (named.length === 0) return new RpcError(CODES.params, message)
  const names = named.map((tool) => tool.name).join(' or ')
  return new RpcError(CODES.params, `${message}. Several servers have a tool of this name: call ${names}`)
}
const MAX_NAMED = 5

/** The params of a tool call that Toolroom does not know. Tasks are passed on only where they can be followed. */
function extraParamsOf(message: Incoming, hasTasks: boolean): unknown {
  for (const name in message.params) {
    if (KNOWN_PARAMS.includes(name) || (name === 'task' && !hasTasks)) continue
    const known = [...KNOWN_PARAMS, ...(hasTasks ? [] : ['task'])].map((each) => [each, undefined] as const)
    return withMembers(rawParams(message), Object.fromEntries(known))
  }
  return undefined
}
const KNOWN_PARAMS = ['name', 'arguments', '_meta', 'inputResponses', 'requestState']

/** An object in JSON with one more member. */
function withMember(json: Buffer, name: string, value: unknown): Buffer {
  return Buffer.concat([json.subarray(0, -1), Buffer.from(`,"${name}":${JSON.stringify(value)}}`)])
}

const resolveCall = (list: AgentToolList, name: unknown, args: unknown) =>
  list.mode === 'search' ? resolveInSearchMode(list, name, args) : toolCall(list.find(String(name)), args)

function toolCall(found: OfferedTool | undefined, args: unknown) {
  return found && { kind: 'call' as const, found, args }
}

/** The agent's own `_meta`. Undefined when it has only keys of the modern era, like that of most modern agents. */
function ownMeta(message: Incoming): unknown {
  for (const name in metaOf(message.params))
    if (!name.startsWith(META_PREFIX)) return withoutModernKeys(rawParam(message, '_meta'))
  return undefined
}

/**
 * The result of a call to a server that needs a login: a sentence with a link. Agents show it to their user, while they
 * show an error of the protocol as a bare failure. Undefined for any other error.
 */
function loginNeededResult(error: unknown): CallResult | undefined {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof AppError) || cause.code !== 'login_needed') return undefined
  return CallResult.of({ content: [{ type: 'text', text: cause.message }], isError: true })
}
