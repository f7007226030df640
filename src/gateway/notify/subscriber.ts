import { memo } from '../../kernel/memo.ts'
import type { CallingClient } from '../../mcp/protocol/call-options.ts'
import type { AgentScope, Session } from '../sessions/sessions.ts'

/** Receives notifications of servers: a session, a `subscriptions/listen` request, or a request until it is answered. */
export interface Subscriber extends AgentScope {
  /** The key of the agent. */
  readonly keyId: string
  /** The id of the client that it is, for messages that concern one client only. */
  readonly clientId?: string | undefined
  /** The session as the client of servers. */
  readonly client?: CallingClient | undefined
  readonly notify: (method: string, params: object) => void
}

/** Whether a notification concerns a subscriber. */
export type IsReceiver = (subscriber: Pick<Subscriber, 'clientId' | 'agentType'>) => boolean

/** What subscriptions need of the servers. */
export interface SubscribableServers {
  /** The servers that a subscriber sees. */
  readonly serversOf: (subscriber: AgentScope) => readonly string[]
  readonly isAwake: (serverId: string) => boolean
  /** Sends a request. Starts the server if necessary. */
  readonly request: (serverId: string, method: string, params: object) => Promise<unknown>
}

/** A session as a subscriber. The same object for the same session. */
export const subscriberOf = memo((session: Session): Subscriber => {
  const { serverId, agentType, keyId, streams } = session
  const notify = (method: string, params: object): void => {
    const [pending] = session.pending.values()
    // A log message of the only server belongs to the pending request. With several servers, that is unknown.
    const isRelated = method === 'notifications/message' && (serverId !== undefined || !streams.isListening)
    if (pending && isRelated) pending.notify(method, params)
    else streams.notify(method, params)
  }
  return { clientId: session.id, client: session.client, serverId, agentType, keyId, notify }
})
