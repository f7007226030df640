import { createHash } from 'node:crypto'
import type { CallingClient, ClientProfile, InstanceOwner, Params } from '../../mcp/protocol/call.ts'
import { type AskedSession, askSession } from './ask-session.ts'
import type { EventStream } from './event-stream.ts'

/** Receives a notification of a server that runs for one client alone. `clientId`: the request that it concerns. */
export type OnInstanceNote = InstanceOwner['notify']

/** What is needed of a session. */
interface ClientSession extends AskedSession {
  readonly streams: { readonly getStream: EventStream | undefined }
}

/** The session of a legacy agent as the client of servers. */
export class SessionClient implements CallingClient, InstanceOwner {
  readonly id: string
  readonly sessionId: string
  readonly agentType: string
  readonly profile: ClientProfile
  readonly shares = new Set<string>()
  readonly notify: OnInstanceNote
  readonly onStarted: (serverId: string) => Promise<unknown> | undefined
  readonly #session: () => ClientSession

  constructor(
    { id, agentType }: { readonly id: string; readonly agentType: string },
    profile: ClientProfile,
    session: () => ClientSession,
    { notify, onStarted }: Pick<SessionClient, 'notify' | 'onStarted'>,
  ) {
    this.onStarted = onStarted
    this.id = id
    this.sessionId = id
    this.agentType = agentType
    this.profile = profile
    this.#session = session
    this.notify = notify
  }

  get owner(): InstanceOwner {
    return this
  }

  /** On the GET stream, because no request is pending. */
  readonly ask = async (method: string, params: unknown): Promise<unknown> => {
    const session = this.#session()
    return askSession(session, session.streams.getStream, method, params).response
  }
}

/**
 * A request of a modern agent as the client of servers. Requests with the same key and the same capabilities share an
 * instance, because a modern agent has no sessions.
 */
export class RequestClient implements CallingClient {
  readonly id: string
  readonly agentType: string
  readonly #keyId: string
  readonly #capabilities: Params
  readonly #notify: OnInstanceNote

  constructor(
    requestId: string,
    { keyId, agentType }: { readonly keyId: string; readonly agentType: string },
    capabilities: Params,
    notify: OnInstanceNote,
  ) {
    this.id = requestId
    this.agentType = agentType
    this.#keyId = keyId
    this.#capabilities = capabilities
    this.#notify = notify
  }

  get owner(): InstanceOwner {
    const capabilities = this.#capabilities
    const digest = createHash('sha256').update(JSON.stringify(capabilities)).digest('base64url')
    return {
      id: `${this.#keyId} ${digest}`,
      agentType: this.agentType,
      sessionId: null,
      profile: { capabilities, clientInfo: undefined, protocolVersion: undefined },
      notify: this.#notify,
    }
  }
}
