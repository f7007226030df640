import type { Caller } from '../../kernel/rest-parts.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { CallingClient, CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import type { Catalogue, DiscoveredServer } from './catalogues.ts'
import type { OfferSettings } from './tool-settings.ts'

/** A call of one tool. */
export interface ToolCall {
  readonly tool: string
  readonly args: unknown
  readonly by: Caller
  readonly options: CallOptions
  /** Overrides `timeouts.request_s` of the server. */
  readonly timeout_s?: number | undefined
  /** Set for requests of agents: they wait for the restart of a crashed server, and have a longer time limit. */
  readonly waits?: true | undefined
  /** Called when the server is running and its tools are known. Throws when the call is not allowed. */
  readonly admit?: (() => void) | undefined
}

/** Any other request. */
export interface RelayedRequest {
  readonly method: string
  readonly params: unknown
  readonly options: CallOptions
  readonly timeout_s?: number | undefined
  readonly waits?: true | undefined
}

/** Why a server that should work does not, or why it works only in part. */
export interface Trouble extends Pick<LastError, 'message' | 'hint' | 'action'> {
  readonly kind: 'crashed' | 'failed' | 'degraded' | 'login_needed' | 'not_allowed'
  /** What happened to the server, as the end of a sentence that begins with its name. */
  readonly what: string
}

/** One registered server, whatever its kind, as the gateway uses it. */
export interface Upstream {
  readonly id: string
  readonly kind: 'stdio' | 'http'
  readonly name: string
  readonly status: string
  /** `unsettled` while it starts, stops or waits for its first check. Undefined when nothing is wrong. */
  readonly trouble: Trouble | 'unsettled' | undefined
  /** The description and the lists of the server, as of its last run. */
  readonly catalogue: Catalogue | undefined
  readonly settings: OfferSettings
  /** Whether a request reaches it without starting it. */
  readonly isAwake: boolean
  /** Only a person can start it. Agents do not see what it offers, and calls of it are refused. */
  readonly isStopped: boolean
  /** Whether it is connected, but its tools are not known because it could not list them. */
  readonly isUnlisted: boolean
  /** Starts a sleeping server whose tools are not known yet. Undefined when there is nothing to do. */
  wake(): Promise<unknown> | undefined
  /**
   * Lists the tools again. A server that is not running keeps its last known list; if there is none, it is started or
   * awaited like for a call. Rejects with the reason why there is no list.
   */
  refresh(request: Pick<RelayedRequest, 'options' | 'waits'>): Promise<void>
  /** Calls a tool. The call is counted in metrics and logs. */
  call(call: ToolCall): Promise<CallResult>
  /** Forwards any other request. */
  relay(request: RelayedRequest): Promise<CallResult>
  /**
   * The capabilities that the server announces to modern clients. Undefined when it supports only the legacy era. A server
   * that was never asked is started for it, and rejects with the reason if it cannot be.
   */
  modernCapabilities(request: Pick<RelayedRequest, 'waits'>): Promise<Definition | undefined>
  /**
   * Starts the instance that runs for this client alone, and returns its own description and tools. Undefined when the
   * client shares the server with others.
   */
  openFor(client: CallingClient): Promise<DiscoveredServer | undefined> | undefined
  /** The description and the tools of the instance that runs for this client alone. */
  ownCatalogue(client: CallingClient): DiscoveredServer | undefined
  /** Forwards a notification of a client to the instance that runs for it alone. */
  notify(client: CallingClient, method: string, params: unknown): void
  /** Ends the instance that runs for this client alone. */
  release(client: CallingClient): void
}
