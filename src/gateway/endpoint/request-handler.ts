import { isObject } from '../../kernel/is-object.ts'
import type { Params } from '../../mcp/protocol/call.ts'
import { CODES, type Era } from '../../mcp/protocol/mcp-constants.ts'
import { type RawJson, withMembers } from '../../mcp/protocol/raw-json.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { AgentToolLists } from '../catalogue/agent-tool-lists.ts'
import { listResult } from '../catalogue/merge-prompts-and-resources.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Approval } from '../pins/approval.ts'
import type { LastPages } from '../sessions/last-pages.ts'
import type { Session } from '../sessions/sessions.ts'
import type { AggregateHandler } from './aggregate-handler.ts'
import type { Forward } from './forward.ts'
import { createHandshakes } from './handshakes.ts'
import { asRpcError, type Incoming, RpcError, rawParams, refuseCursor } from './json-rpc.ts'
import { completed } from './modern-messages.ts'
import type { RefusedCalls } from './refused-calls.ts'
import type { RequestContext } from './request-context.ts'
import { createToolHandler } from './tool-handler.ts'

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
  const { hasServer, noServer, openFor, callTool, listTools } = createToolHandler(deps)
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
    return context.era === 'modern' ? completed(result, method) : result.bytes
  }

  /**
   * Whether every request is forwarded: to a server that runs for this client alone, or to a modern server, which keeps no
   * state between requests.
   */
  async function passesAll(serverId: string, { era, options }: RequestContext): Promise<boolean> {
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

  async function handleOther(message: Incoming, context: RequestContext): Promise<Buffer> {
    const { method = '' } = message
    const { serverId, session } = context
    const isModern = context.era === 'modern'
    if (method === 'tools/list') return listTools(message, context)
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
    noServer,
    hasServer,
    callTool,
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
