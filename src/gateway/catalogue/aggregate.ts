import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import type { Era } from '../../protocol/versions.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { Forward } from '../endpoint/forward.ts'
import { type Incoming, RpcError } from '../endpoint/json-rpc.ts'
import { completed } from '../endpoint/modern-requests.ts'
import type { RequestContext } from '../endpoint/request-context.ts'
import type { Subscriptions } from '../notify/subscriptions.ts'
import type { AgentCatalogues } from './agent-catalogues.ts'
import { mergedInstructions } from './merged-instructions.ts'
import { LEGACY_NOT_FOUND, notFound } from './resource-not-found.ts'
import { wrap } from './wrapped-uri.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly catalogues: AgentCatalogues
  readonly subscriptions: Pick<Subscriptions, 'logsDuring'>
  readonly visibleServers: (agentType: string) => readonly string[]
  readonly forward: Forward
}

const EMPTY = Buffer.from('{}')

/** Prompts, resources and completions of all servers together, as `/mcp` offers them. */
export function createAggregate({ upstreams, catalogues, subscriptions, visibleServers, forward }: Deps) {
  const catalogueOf = (serverId: string) => upstreams.get(serverId)?.catalogue

  async function request(
    message: Incoming,
    serverId: string,
    context: RequestContext,
    nameOf = (uri: string) => catalogues.nameOf(uri, serverId, context.agentType),
  ): Promise<Buffer> {
    const stopLogs = await subscriptions.logsDuring(serverId, message.params, context)
    try {
      const { json, value } = await forward(message, serverId, context)
      const renamed = catalogues.owners.record(serverId, value, nameOf)
      const bytes = renamed === value ? json : Buffer.from(JSON.stringify(renamed))
      const method = message.method ?? ''
      return context.era === 'modern' ? completed({ json: bytes, value: renamed }, method) : bytes
    } finally {
      stopLogs?.()
    }
  }

  function promptNamed(name: string, agentType: string) {
    const found = catalogues.of(agentType).prompt(name)
    if (!found) throw new RpcError(CODES.params, `Unknown prompt: ${name.slice(0, 100)}`)
    return found
  }

  function getPrompt(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { serverId, name } = promptNamed(String(message.params.name), context.agentType)
    return request({ ...message, params: { ...message.params, name } }, serverId, context)
  }

  async function readResource(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { params } = message
    if (typeof params.uri !== 'string') throw new RpcError(CODES.params, 'uri must be a string')
    const location = catalogues.locate(params.uri, context.agentType)
    if (!location) throw notFound(params.uri, context.era)
    const { serverId, uri, isWrapped } = location
    // An agent that uses our name for one resource gets our names for all resources in the result.
    const nameOf = isWrapped ? (each: string) => wrap(serverId, each) : undefined
    try {
      return await request({ ...message, params: { ...params, uri } }, serverId, context, nameOf)
    } catch (error) {
      const isMissing = error instanceof RpcError && error.code === LEGACY_NOT_FOUND
      throw isMissing && context.era === 'modern' ? notFound(params.uri, context.era) : error
    }
  }

  function complete(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { params } = message
    const ref = isObject(params.ref) ? params.ref : {}
    const send = (own: object, serverId: string) =>
      request({ ...message, params: { ...params, ref: { ...ref, ...own } } }, serverId, context)
    if (ref.type === 'ref/prompt') {
      const { serverId, name } = promptNamed(String(ref.name), context.agentType)
      return send({ name }, serverId)
    }
    const uri = String(ref.uri)
    const owner = catalogues.of(context.agentType).template(uri)
    const location =
      owner === undefined ? catalogues.locate(uri, context.agentType) : { serverId: owner, uri }
    if (ref.type !== 'ref/resource' || !location)
      throw new RpcError(CODES.params, 'ref is neither a known prompt nor a known resource template')
    return send({ uri: location.uri }, location.serverId)
  }

  function list(method: string, { params }: Incoming, { agentType, era }: RequestContext): Buffer {
    if (params.cursor !== undefined) throw new RpcError(CODES.params, 'Unknown cursor')
    return catalogues.of(agentType).lists[method]?.[era] ?? EMPTY
  }

  return {
    /** Undefined for a method that is not handled here. */
    handle(message: Incoming, context: RequestContext): Promise<Buffer> | Buffer | undefined {
      const { method = '' } = message
      switch (method) {
        case 'prompts/list':
        case 'resources/list':
        case 'resources/templates/list':
          return list(method, message, context)
        case 'prompts/get':
          return getPrompt(message, context)
        case 'resources/read':
          return readResource(message, context)
        case 'completion/complete':
          return complete(message, context)
        default:
          return undefined
      }
    },

    /** Remembers the resources that the result of a tool mentions, so that the agent can read them. */
    recordResources(serverId: string, result: CallResult, agentType: string): CallResult {
      const nameOf = (uri: string) => catalogues.nameOf(uri, serverId, agentType)
      const renamed = catalogues.owners.record(serverId, result.value, nameOf)
      return renamed === result.value
        ? result
        : { value: renamed, json: Buffer.from(JSON.stringify(renamed)) }
    },

    capabilities(agentType: string, era: Era): object {
      const all = visibleServers(agentType).map((id) => catalogueOf(id)?.capabilities)
      const some = (capability: string) => all.some((each) => each?.[capability] !== undefined)
      const subscribe = all.some((each) => isObject(each?.resources) && each.resources.subscribe === true)
      return {
        tools: { listChanged: true },
        ...(some('prompts') && { prompts: { listChanged: true } }),
        ...(some('resources') && { resources: { listChanged: true, ...(subscribe && { subscribe }) } }),
        ...(some('completions') && { completions: {} }),
        ...(some('logging') && era === 'legacy' && { logging: {} }),
      }
    },

    instructions(serverId: string | undefined, agentType: string): string | undefined {
      if (serverId !== undefined) return catalogueOf(serverId)?.instructions ?? undefined
      return mergedInstructions(
        visibleServers(agentType).map((id) => ({ id, instructions: catalogueOf(id)?.instructions ?? null })),
      )
    },
  }
}
export type Aggregate = ReturnType<typeof createAggregate>
