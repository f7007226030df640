import { isObject } from '../../kernel/json/json-checks.ts'
import type { CallingClient, Params } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import { CODES, META } from '../../mcp/protocol/mcp-constants.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { AgentPromptsAndResources } from '../catalogue/agent-prompts-and-resources.ts'
import type { Incoming } from '../messages/incoming-message.ts'
import { asRpcError, RpcError } from '../messages/rpc-error.ts'
import type { AgentScope, KeptBytes, Session } from '../sessions/sessions.ts'
import { LogLevels } from './log-levels.ts'
import type { RequestContext } from './request-context.ts'
import { ResourceSubscriptions, UPDATED } from './resource-subscriptions.ts'
import { type IsReceiver, type Subscriber, subscriberOf } from './subscriber.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly catalogues: AgentPromptsAndResources
  readonly kept: KeptBytes
}

const REQUEST_MS = 60_000
/** How long a request waits until its server has the log level. After that it is sent anyway. */
const SET_LEVEL_MS = 1000
const EMPTY = Buffer.from('{}')
const UNSUBSCRIBE = 'resources/unsubscribe'
const METHODS = ['logging/setLevel', 'resources/subscribe', UNSUBSCRIBE]

/** Log levels and resource subscriptions of all agents. */
export function createSubscriptions({ upstreams, catalogues, kept }: Deps) {
  const capabilitiesOf = (serverId: string) => upstreams.get(serverId)?.catalogue?.capabilities
  const servers = {
    serversOf: ({ serverId, agentType }: AgentScope) =>
      serverId === undefined ? catalogues.visibleServers(agentType) : [serverId],
    hasLogging: (serverId: string) => capabilitiesOf(serverId)?.logging !== undefined,
    hasSubscribe(serverId: string): boolean {
      const resources = capabilitiesOf(serverId)?.resources
      return isObject(resources) && resources.subscribe === true
    },
    isAwake: (serverId: string) => upstreams.get(serverId)?.isAwake === true,
    async request(serverId: string, method: string, params: object): Promise<unknown> {
      const options = { signal: AbortSignal.timeout(REQUEST_MS), isInternal: true as const }
      try {
        return await upstreams.relay(serverId, { method, params, options })
      } catch (error) {
        throw asRpcError(error, 'legacy')
      }
    },
  }
  const logLevels = new LogLevels(servers)
  const resources = new ResourceSubscriptions({
    ...servers,
    kept,
    locate: ({ serverId, agentType }, uri) =>
      serverId === undefined ? catalogues.locate(uri, agentType) : { serverId, uri, isWrapped: false },
  })

  return {
    resources,

    /**
     * Handles a subscription request of a session. Undefined for every other method, and for one that the only server does
     * not support: that server refuses it itself.
     */
    handle({ method = '', params }: Incoming, subscriber: Subscriber): Promise<Buffer> | undefined {
      const { serverId } = subscriber
      const isRefused = method === UNSUBSCRIBE && serverId !== undefined && !servers.hasSubscribe(serverId)
      return METHODS.includes(method) && !isRefused ? subscribe(method, params, subscriber) : undefined
    },

    /**
     * Sends the server's log messages to the request until the returned function is called. Undefined when the request has
     * no log level.
     */
    logsDuring(
      serverId: string,
      params: Params,
      context: RequestContext,
    ): Promise<(() => void) | undefined> | undefined {
      if (context.era === 'legacy') return undefined
      const level = metaOf(params)[META.logLevel]
      return level === undefined ? undefined : logsOf(serverId, context, level)
    },

    /** Delivers a notification to its subscribers. False when sessions limited to this server get it, too. */
    deliver(serverId: string, method: string, params: unknown, isReceiver: IsReceiver): boolean {
      if (method === 'notifications/message') logLevels.deliver(serverId, params, isReceiver)
      if (method === UPDATED) resources.deliver(serverId, params)
      return method === UPDATED
    },

    /** Sets the log level of a session in a server that has just started for it alone. */
    setOwnLevel(session: Session, serverId: string): Promise<void> | undefined {
      const level = logLevels.of(subscriberOf(session))
      return level !== undefined && servers.hasLogging(serverId)
        ? setLevelOf(session.client, serverId, level)
        : undefined
    },

    hasLogLevel: (subscriber: Subscriber): boolean => logLevels.has(subscriber),

    /** Call when a server has started: it has none of our subscriptions yet. */
    serverStarted(serverId: string): void {
      logLevels.serverStarted(serverId)
      resources.serverStarted(serverId)
    },

    serverRemoved: (serverId: string): void => resources.serverRemoved(serverId),

    remove(subscriber: Subscriber): void {
      logLevels.remove(subscriber)
      resources.remove(subscriber)
    },
  }

  /** A server that runs for this client alone gets the level of the request. */
  async function logsOf(serverId: string, context: RequestContext, level: unknown) {
    const { client } = context.options
    try {
      if (client && (await upstreams.get(serverId)?.openFor(client)))
        await setLevelOf(client, serverId, level)
    } catch (error) {
      throw asRpcError(error, context.era) // its process did not start
    }
    return logLevels.during(serverId, context, level)
  }

  /** Sets the level of a server that runs for one client alone. If it refuses, its messages are still filtered here. */
  async function setLevelOf(client: CallingClient, serverId: string, level: unknown): Promise<void> {
    const options = { client, isInternal: true as const, signal: AbortSignal.timeout(SET_LEVEL_MS) }
    const request = { method: 'logging/setLevel', params: { level }, options }
    await upstreams.relay(serverId, request).catch(() => {})
  }

  async function subscribe(method: string, params: Params, subscriber: Subscriber): Promise<Buffer> {
    if (method === 'logging/setLevel') {
      if (!servers.serversOf(subscriber).some(servers.hasLogging))
        throw new RpcError(CODES.method, 'No server here supports logging')
      logLevels.set(subscriber, params.level)
      const { client } = subscriber
      const own = client
        ? servers.serversOf(subscriber).filter((id) => upstreams.get(id)?.ownCatalogue(client))
        : []
      if (client) await Promise.all(own.map((id) => setLevelOf(client, id, params.level)))
      return EMPTY
    }
    if (typeof params.uri !== 'string') throw new RpcError(CODES.params, 'uri must be a string')
    if (method === 'resources/subscribe') await resources.subscribe(subscriber, params.uri)
    else await resources.unsubscribe(subscriber, params.uri)
    return EMPTY
  }
}
export type Subscriptions = ReturnType<typeof createSubscriptions>
