import { randomUUID } from 'node:crypto'
import type { FactBus } from '../kernel/fact-bus.ts'
import type { HttpListener, HttpRequest } from '../kernel/http/http-types.ts'
import { isObject } from '../kernel/json/json-checks.ts'
import type { Log } from '../kernel/log.ts'
import type { CallRecorder } from '../servers/shared/call-recorder.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import { AgentPromptsAndResources } from './catalogue/agent-prompts-and-resources.ts'
import type { AgentToolLists } from './catalogue/agent-tool-lists.ts'
import { AggregateHandler, createForward } from './endpoint/aggregate-handler.ts'
import { McpEndpoint } from './endpoint/mcp-endpoint.ts'
import { capabilitiesIn } from './endpoint/modern-fields.ts'
import { ModernReplies } from './endpoint/modern-reply.ts'
import { createRefusedCalls } from './endpoint/refused-calls.ts'
import { createRequestHandler } from './endpoint/request-handler.ts'
import type { Keys } from './keys/keys.service.ts'
import { ChangeNotifications } from './notify/change-notifications.ts'
import { createSubscriptions } from './notify/log-and-resource-subscriptions.ts'
import { NotificationRateLimit, startFanout } from './notify/notification-fanout.ts'
import { type IsReceiver, subscriberOf } from './notify/subscriber.ts'
import { createListen } from './notify/subscriptions-listen.ts'
import type { Approval } from './pins/pins.ts'
import { type OnInstanceNote, RequestClient } from './sessions/modern-request-client.ts'
import { KeptBytes, LastPages, type Session, Sessions } from './sessions/sessions.ts'

interface Deps {
  readonly version: string
  readonly upstreams: Upstreams
  readonly toolLists: AgentToolLists
  readonly keys: Pick<Keys, 'find'>
  readonly facts: FactBus
  readonly log: Log
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  /** Counts a wrong key. Returns how long its response has to wait. */
  readonly wrongKeyDelayMs: (address: string | undefined) => number
  /** Whether a wrong key is the management token. */
  readonly isToken: (given: string) => boolean
  readonly now: () => number
  /** Undefined when nothing is held. */
  readonly approval: Approval | undefined
  readonly calls: Pick<CallRecorder, 'refuse'>
}

export interface Gateway {
  /** Answers requests for which `isMcpPath` is true. */
  readonly listener: HttpListener
  /** Whether a request has a valid key, so that its body may be read. */
  readonly opens: (request: HttpRequest) => boolean
  close(): void
}

/** The parts of the gateway, connected. */
export function createGateway({ facts, log, now, keys, headerName, ...deps }: Deps): Gateway {
  const { upstreams, toolLists, approval, wrongKeyDelayMs, isToken } = deps
  const onDropped = ({ agentType: agent_type }: Partial<Session>, messages: number) =>
    log.warn({ agent_type, messages }, 'notifications dropped: the agent reads or answers too slowly')
  const catalogues = new AgentPromptsAndResources(
    upstreams,
    (agentType) => toolLists.of(undefined, agentType)?.servers ?? [],
    approval?.isHeldPrompt,
  )
  const kept = new KeptBytes()
  const subscriptions = createSubscriptions({ upstreams, catalogues, kept })
  const forward = createForward(upstreams, subscriptions)
  const lastPages = new LastPages()
  const aggregate = new AggregateHandler({ upstreams, catalogues, forward, lastPages, approval })
  const refused = createRefusedCalls(deps)
  const handler = createRequestHandler({ ...deps, aggregate, subscriptions, forward, lastPages, refused })
  const sessions = new Sessions(now, onDropped, kept)
  const changeNotifications = new ChangeNotifications(subscriptions.resources, kept, onDropped)
  const rateLimit = new NotificationRateLimit(
    () => performance.now(),
    (server_id, messages) =>
      log.warn({ server_id, messages }, 'notifications dropped: the server sends too many'),
  )
  const onRequestNote: OnInstanceNote = (server_id, method, params, client_id) =>
    facts.publish('server_note', { server_id, method, params, client_id })
  const listen = createListen({
    upstreams,
    changeNotifications,
    clientOf: (params, access) =>
      new RequestClient(randomUUID(), access, capabilitiesIn(params), onRequestNote),
    admits: (serverId) => rateLimit.take(serverId),
  })
  const modernReplies = new ModernReplies(now, (messages) => onDropped({}, messages), kept)
  const parts = { subscriptions, sessions, changeNotifications, modernReplies }
  const stopFanout = startFanout({
    ...parts,
    rateLimit,
    facts,
    log,
    toolLists,
    catalogues,
    hasServer: (scope) => handler.tools.hasServer(scope),
    holds: approval !== undefined,
  })
  const onError = (error: unknown) => log.error({ error }, 'gateway request failed')
  const endpoint = new McpEndpoint({
    ...parts,
    kept,
    handler,
    refused,
    listen,
    keys,
    headerName,
    wrongKeyDelayMs,
    isToken,
    onError,
    instanceEvents: {
      onNote(session, serverId, method, params) {
        const isReceiver: IsReceiver = ({ clientId }) => clientId === session.id
        if (session.serverId === undefined) subscriptions.deliver(serverId, method, params, isReceiver)
        else subscriberOf(session).notify(method, isObject(params) ? params : {})
      },
      // At `/mcp/{server_id}` the session sets the level of the server itself.
      onStarted: (session, serverId) =>
        session.serverId === undefined ? subscriptions.setOwnLevel(session, serverId) : undefined,
    },
    onRequestNote,
  })
  return {
    listener: endpoint.listener,
    opens: endpoint.opens,
    close(): void {
      stopFanout()
      changeNotifications.close()
      sessions.close()
      modernReplies.close()
    },
  }
}
