/** Receives notifications of servers: a session, a `subscriptions/listen` request, or a request until it is answered. */
export interface Subscriber {
  /** The server that it is limited to; undefined for all servers. */
  readonly serverId: string | undefined
  readonly agentType: string
  readonly notify: (method: string, params: object) => void
}
