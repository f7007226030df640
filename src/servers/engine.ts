import type {
  LastError,
  LastExit,
  Plan,
  Resources,
  ServerState,
  StartOutcome,
} from '../kernel/server-state.ts'

/** What this room needs to run servers. `supervisor/` and `mcp/` provide it. */
export interface Engine {
  /** A new server, or a new plan for a known one: what runs goes on, and the next start takes it. */
  register(id: string, plan: Plan): void
  start(id: string): Promise<StartOutcome>
  /** For a call: wakes one that sleeps and waits for one that starts. Starts nobody against a person's will. */
  wake(id: string): Promise<StartOutcome>
  restart(id: string): Promise<StartOutcome>
  /** Settles when nothing of it is left. */
  stop(id: string): Promise<void>
  sleep(id: string): Promise<void>
  remove(id: string): Promise<void>
  life(id: string): Life
  /** Keeps the server awake while it is talked to. */
  using<R>(id: string, talk: (conversation: Conversation) => Promise<R>): Promise<R>
}

export interface Life {
  readonly state: ServerState
  readonly restartCount: number
  readonly lastExit: LastExit | null
  readonly lastError: LastError | null
  readonly resources: Resources | null
  /** Milliseconds since the handshake; null unless it runs. */
  readonly uptimeMs: number | null
  /** While it runs. */
  readonly conversation: Conversation | undefined
}

export interface Conversation {
  readonly noiseLines: number
  /** Rejects with an error whose `failure` says why. */
  call(tool: string, args: unknown, options: CallOptions): Promise<CallResult>
}

export interface CallOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** `json` is the result as the server sent it, to the last byte. */
export interface CallResult {
  readonly value: unknown
  readonly json: Buffer
}
