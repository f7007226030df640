import { isObject } from '../../kernel/json/json-checks.ts'
import { memo } from '../../kernel/memo.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import { CallResult } from '../../mcp/protocol/json-rpc-message.ts'
import { CODES, UI, uiIn } from '../../mcp/protocol/mcp-constants.ts'
import { memberOf, RawJson, withMembers } from '../../mcp/protocol/raw-json.ts'
import type { Catalogue } from '../../servers/shared/catalogues.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { AgentPromptsAndResources } from '../catalogue/agent-prompts-and-resources.ts'
import { pagesOf } from '../catalogue/app-pages.ts'
import { isPage, wrap } from '../catalogue/wrapped-uri.ts'
import { type Incoming, rawParams, refuseCursor } from '../messages/incoming-message.ts'
import { refOf } from '../messages/large-params.ts'
import { asRpcError, RpcError, resourceNotFound } from '../messages/rpc-error.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { progressTo, progressTokenIn, type RequestContext } from '../notify/request-context.ts'
import type { Approval } from '../pins/pins.ts'
import type { AgentScope, LastPages } from '../sessions/sessions.ts'
import { completed, modernParamsOf, withoutModernMeta } from './modern-fields.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly catalogues: AgentPromptsAndResources
  readonly forward: Forward
  readonly lastPages: LastPages
  readonly approval: Approval | undefined
}

const EMPTY = Buffer.from('{}')

/** Prompts, resources and completions of all servers together, as `/mcp` offers them. */
export class AggregateHandler {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Undefined for a method that is not handled here. */
  handle(message: Incoming, context: RequestContext): Promise<Buffer> | Buffer | undefined {
    const { method = '' } = message
    switch (method) {
      case 'prompts/list':
      case 'resources/list':
      case 'resources/templates/list':
        return this.#list(method, message, context)
      case 'prompts/get':
        return this.#getPrompt(message, context)
      case 'resources/read':
        return this.#readResource(message, context)
      case 'completion/complete':
        return this.#complete(message, context)
      default:
        return undefined
    }
  }

  /** Remembers the resources that the result of a tool mentions, so that the agent can read them. */
  recordResources(serverId: string, result: CallResult, agentType: string): CallResult {
    return this.#withNames(serverId, result, (uri) => this.#deps.catalogues.nameOf(uri, serverId, agentType))
  }

  capabilities(agentType: string): object {
    const servers = this.#deps.catalogues
      .visibleServers(agentType)
      .flatMap((id) => this.#catalogueOf(id) ?? [])
    const all = servers.map(({ capabilities }) => capabilities)
    const some = (capability: string) => all.some((each) => each[capability] !== undefined)
    const subscribe = all.some((each) => isObject(each.resources) && each.resources.subscribe === true)
    return {
      tools: { listChanged: true },
      ...(some('prompts') && { prompts: { listChanged: true } }),
      ...(some('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
      ...(some('completions') && { completions: {} }),
      ...(some('logging') && { logging: {} }),
      ...(servers.some(hasPages) && { extensions: { [UI]: {} } }),
    }
  }

  /** `own`: the description of a server that runs for the agent alone. */
  instructions(
    { serverId, agentType }: AgentScope,
    own?: Pick<Catalogue, 'instructions'>,
  ): string | undefined {
    if (serverId !== undefined) return this.#instructionsOf(serverId, own)
    const ids = this.#deps.catalogues
      .visibleServers(agentType)
      .filter((id) => !this.#deps.upstreams.get(id)?.isStopped)
    return mergeInstructions(ids.map((id) => [id, this.#instructionsOf(id)?.trim()]))
  }

  #catalogueOf(serverId: string) {
    return this.#deps.upstreams.get(serverId)?.catalogue
  }

  #instructionsOf(
    serverId: string,
    catalogue: Pick<Catalogue, 'instructions'> | undefined = this.#catalogueOf(serverId),
  ): string | undefined {
    return this.#deps.approval?.holdsInstructions(serverId)
      ? undefined
      : (catalogue?.instructions ?? undefined)
  }

  async #request(
    method: string,
    params: RawJson,
    serverId: string,
    context: RequestContext,
    nameOf = (uri: string) => this.#deps.catalogues.nameOf(uri, serverId, context.agentType),
  ): Promise<Buffer> {
    const result = this.#withNames(
      serverId,
      await this.#deps.forward(method, params, serverId, context),
      nameOf,
    )
    return context.era === 'modern' ? completed(result, method) : result.bytes
  }

  /** Remembers the resources that a result mentions, and replaces their URIs by those that the agent uses. All other bytes stay. */
  #withNames(serverId: string, result: CallResult, nameOf: (uri: string) => string): CallResult {
    const renamed = this.#deps.catalogues.owners.record(serverId, result.raw, nameOf)
    return renamed instanceof RawJson ? new CallResult(Buffer.from(renamed.json)) : result
  }

  #promptNamed(name: string, { agentType, era }: RequestContext) {
    const found = this.#deps.catalogues.of(agentType).prompt(name)
    if (!found) throw new RpcError(CODES.params, `Unknown prompt: ${name.slice(0, 100)}`)
    try {
      this.#deps.approval?.admitPrompt(found.serverId, found.name)
    } catch (error) {
      throw asRpcError(error, era)
    }
    return found
  }

  #getPrompt(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { serverId, name } = this.#promptNamed(String(message.params.name), context)
    return this.#request('prompts/get', replaced(rawParams(message), { name }), serverId, context)
  }

  async #readResource(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { params } = message
    if (typeof params.uri !== 'string') throw new RpcError(CODES.params, 'uri must be a string')
    const location = this.#deps.catalogues.locate(
      params.uri,
      context.agentType,
      this.#deps.lastPages.serverOf(context),
    )
    if (!location) throw resourceNotFound(params.uri, context.era)
    const { serverId, uri, isWrapped } = location
    // An agent that uses our name for one resource gets our names for all resources in the result. The resource itself has
    // the name that it was requested by.
    const nameOf = (each: string) =>
      isWrapped
        ? wrap(serverId, each)
        : each === uri
          ? uri
          : this.#deps.catalogues.nameOf(each, serverId, context.agentType)
    try {
      const sent = replaced(rawParams(message), { uri })
      const result = await this.#request('resources/read', sent, serverId, context, nameOf)
      if (isPage(uri)) this.#deps.lastPages.record(context, serverId)
      return result
    } catch (error) {
      const isMissing = error instanceof RpcError && error.code === CODES.resourceNotFound
      throw isMissing && context.era === 'modern' ? resourceNotFound(params.uri, context.era) : error
    }
  }

  #complete(message: Incoming, context: RequestContext): Promise<Buffer> {
    const params = rawParams(message)
    const ref = refOf(message.params)
    const send = (own: Params, serverId: string) => {
      const sent = replaced(params, { ref: withMembers(memberOf(params, 'ref'), own) })
      return this.#request('completion/complete', sent, serverId, context)
    }
    if (ref.type === 'ref/prompt') {
      const { serverId, name } = this.#promptNamed(String(ref.name), context)
      return send({ name }, serverId)
    }
    const uri = String(ref.uri)
    const location =
      this.#deps.catalogues.of(context.agentType).template(uri) ??
      this.#deps.catalogues.locate(uri, context.agentType)
    if (ref.type !== 'ref/resource' || !location)
      throw new RpcError(CODES.params, 'ref is neither a known prompt nor a known resource template')
    return send({ uri: location.uri }, location.serverId)
  }

  #list(method: string, { params }: Incoming, { agentType, era }: RequestContext): Buffer {
    refuseCursor(params)
    return this.#deps.catalogues.of(agentType).lists[method]?.[era] ?? EMPTY
  }
}

/** Most servers with pages do not declare the extension, because only clients have to. */
const hasPages = memo(
  ({ capabilities, tools }: Catalogue): boolean =>
    uiIn(capabilities) !== undefined || tools.some((tool) => pagesOf(tool).length > 0),
)

/** The params with our names replaced by those of the server. */
const replaced = (params: RawJson, own: Params) => withMembers(params, own) as RawJson

const MAX_INSTRUCTION_CHARS = 2000
const MAX_INSTRUCTION_BYTES = 16 * 1024

/** The instructions of all servers, each under a heading with the server id. Undefined when no server has any. */
function mergeInstructions(servers: readonly (readonly [string, string | undefined])[]): string | undefined {
  const parts: string[] = []
  let bytes = 0
  for (const [id, text] of servers) {
    if (!text) continue
    const part = `## ${id}\n${shortened(text)}`
    bytes += Buffer.byteLength(part) + 2
    if (bytes > MAX_INSTRUCTION_BYTES) break
    parts.push(part)
  }
  return parts.length > 0 ? parts.join('\n\n') : undefined
}

function shortened(text: string): string {
  if (text.length <= MAX_INSTRUCTION_CHARS) return text
  const cut = text.slice(0, MAX_INSTRUCTION_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '') // half of a surrogate pair
  return `${cut.trimEnd()}…`
}

/** Forwards a request to one server. Rejects with the error that the agent gets. */
export type Forward = (
  method: string,
  params: RawJson,
  serverId: string,
  context: RequestContext,
) => Promise<CallResult>

export function createForward(upstreams: Upstreams, { logsDuring }: Subscriptions): Forward {
  return async (method, params, serverId, context) => {
    const value = params.value as Params
    const isModern = context.era === 'modern'
    const options = {
      onProgress: progressTo(context, progressTokenIn(params)),
      modernParams: isModern
        ? { requestState: value.requestState, raw: () => modernParamsOf(params, context) }
        : undefined,
      ...context.options,
    }
    const stopLogs = await logsDuring(serverId, value, context)
    try {
      const request = { method, params: withoutModernMeta(params), options, waits: true as const }
      return await upstreams.relay(serverId, request)
    } catch (error) {
      throw asRpcError(error, context.era)
    } finally {
      stopLogs?.()
    }
  }
}
