import type { CancelSignal } from '../../kernel/light-abort-controller.ts'

export type { CallResult } from './json-rpc-message.ts'

/** The `params` of a request, or any other JSON object in the protocol. */
export type Params = Readonly<Record<string, unknown>>

/** Answers a request that a server sends during a call. Rejects with the error that the server gets instead. */
export type OnServerRequest = (method: string, params: unknown) => Promise<unknown>

/** How a server depends on the client that uses it, so that clients cannot share it without noticing each other. */
export type ClientDependency = 'roots' | 'sampling' | 'elicitation' | 'logging' | 'tasks'

/** The client that a request is sent for. */
export interface CallingClient {
  /** The same for all requests of one session. A modern client has no sessions, so each of its requests has its own id. */
  readonly id: string
  readonly agentType: string
  /** The servers that this session shares with other clients. Undefined for a modern client. */
  readonly shares?: Set<string> | undefined
  /** Who the client is to a server that runs for it alone. */
  readonly owner: InstanceOwner
}

/** What a client says of itself in the legacy handshake. */
export interface ClientProfile {
  readonly capabilities: Params
  readonly clientInfo: Params | undefined
  readonly protocolVersion: string | undefined
}

/** A client that servers can run for alone, each as an instance of its own. */
export interface InstanceOwner {
  /** One instance of a server belongs to each id. */
  readonly id: string
  readonly agentType: string
  /** Null for a modern client, which has no session. */
  readonly sessionId: string | null
  /** What the client declared: the server gets it unchanged. Undefined when the owner is several clients. */
  readonly profile?: ClientProfile | undefined
  /** Answers a request that the server sends while no request of the client is pending. */
  readonly ask?: OnServerRequest | undefined
  /** Called when an instance has started for it, before its first request. */
  readonly onStarted?: ((serverId: string) => Promise<unknown> | undefined) | undefined
  /** Receives the notifications of the server. `clientId` as in `CallingClient`: whose request it concerns. */
  readonly notify: (
    serverId: string,
    method: string,
    params: unknown,
    clientId: string | null | undefined,
  ) => void
}

/**
 * What accompanies one request from its caller to the transport. This is the only declaration: every layer in between
 * passes the object on, so a new option is a new line here, plus the code that sets it and the code that uses it.
 */
export interface CallOptions {
  readonly signal?: CancelSignal | undefined
  /** The client that the request is sent for. Undefined for a request of the API. */
  readonly client?: CallingClient | undefined
  /** A request of Toolroom itself: no question or log message of the server belongs to it. */
  readonly isInternal?: true | undefined
  /** The caller's `_meta`, forwarded with a tool call: an object or its RawJson. */
  readonly meta?: unknown
  /** Called with the server's progress notifications. A progress token is sent only when this is set. */
  readonly onProgress?: ((params: Params) => void) | undefined
  /** Called with the server's log messages, as far as they belong to this request alone. */
  readonly onLog?: ((params: unknown) => void) | undefined
  /** Receives the notifications of a subscription, if the request is one. */
  readonly onNotification?: ((method: string, params: unknown) => void) | undefined
  /** Answers the server's sampling and elicitation requests. */
  readonly onServerRequest?: OnServerRequest | undefined
  /** The caller's client capabilities. Modern servers receive them with each request. */
  readonly capabilities?: Params | undefined
  /** Further params of a tool call, for a server that runs for the client alone. */
  readonly extraParams?: unknown
  /** The params of a modern client's request, for a modern server. */
  readonly modernParams?: ModernParams | undefined
}

/** The params of a modern client's request. Most servers are legacy, so their JSON is made on demand. */
export interface ModernParams {
  readonly requestState: unknown
  readonly raw: () => unknown
}

/** A request with its time limit. Null: it lasts as long as the connection. */
export interface TimedCallOptions extends CallOptions {
  readonly timeoutMs: number | null
}
