import { createHash } from 'node:crypto'
import type { CallingClient, InstanceOwner, Params } from '../../mcp/protocol/call-options.ts'

/** Receives a notification of a server that runs for one client alone. `clientId`: the request that it concerns. */
export type OnInstanceNote = InstanceOwner['notify']

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
