import type { LastError, Life, Plan, ServerState, StartOutcome } from '../../kernel/server-state.ts'
import type { CallResult, Params, TimedCallOptions } from '../../mcp/protocol/call.ts'

/** What this room needs to run servers. `supervisor/` and `mcp/` provide it. */
export interface Engine {
  /** Adds a server, or replaces its plan. A running process keeps its plan until the next start. */
  register(id: string, plan: Plan): void
  start(id: string): Promise<StartOutcome>
  /**
   * Starts a sleeping server for a call, or waits for one that is starting. Never starts a server that a person stopped.
   * Fails at once with `RETRY_LATER` if the next attempt begins after `withinMs`.
   */
  wake(id: string, withinMs?: number): Promise<StartOutcome>
  restart(id: string): Promise<StartOutcome>
  /** Resolves when all its processes have ended. */
  stop(id: string): Promise<void>
  sleep(id: string): Promise<void>
  remove(id: string): Promise<void>
  life(id: string): ServerLife
  /** `life(id).client` and `life(id).state.status`, for the path of a call. */
  clientOf(id: string): Client | undefined
  statusOf(id: string): ServerState['status']
  /** Runs a request, and keeps the server from sleeping meanwhile. */
  using<R>(id: string, request: (client: Client) => Promise<R>): Promise<R>
}

export type ServerLife = Life<Client>

/** The MCP client of a running server. */
export interface Client {
  /** The number of lines on stdout that are not messages. */
  readonly strayLines: number
  /** Why its tools could not be listed. They are requested again. */
  readonly listError: LastError | undefined
  /** Lists the tools again. */
  refresh(timeoutMs: number): Promise<void>
  call(tool: string, args: unknown, options: TimedCallOptions): Promise<CallResult>
  relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult>
  notify(method: string, params: unknown): void
  /** What it announces to modern clients. Null: it supports only the legacy era. Undefined: that is not known. */
  modernCapabilities(): Promise<Params | null | undefined>
}
