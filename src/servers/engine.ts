import type { Life, Plan, StartOutcome } from '../kernel/server-state.ts'
import type { CallTool, RelayRequest } from '../upstreams/calls.ts'

/** What this room needs to run servers. `supervisor/` and `mcp/` provide it. */
export interface Engine {
  /** A new server, or a new plan for a known one: what runs goes on, and the next start takes it. */
  register(id: string, plan: Plan): void
  start(id: string): Promise<StartOutcome>
  /** For a call: wakes one that sleeps, waits for one that starts or will. Starts nobody against a person's will. */
  wake(id: string): Promise<StartOutcome>
  restart(id: string): Promise<StartOutcome>
  /** Settles when nothing of it is left. */
  stop(id: string): Promise<void>
  sleep(id: string): Promise<void>
  remove(id: string): Promise<void>
  life(id: string): ServerLife
  /** Keeps the server awake while it is talked to. */
  using<R>(id: string, talk: (conversation: Conversation) => Promise<R>): Promise<R>
}

/** A server's life as this room sees it. */
export type ServerLife = Life<Conversation>

export interface Conversation {
  readonly noiseLines: number
  readonly call: CallTool
  readonly relay: RelayRequest
}
