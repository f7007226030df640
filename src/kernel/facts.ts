import type { LogEntry, Stream } from './log.ts'
import type { Resources, ServerState } from './server-state.ts'
import type { ToolDiff } from './tool-fields.ts'

/** What a change was, who asked, and what it changed: never with a secret in it. */
export interface AuditEntry {
  readonly action: string
  /** The id of the thing that changed. */
  readonly subject: string
  readonly request_id: string | null
  /** What changed, secrets masked. */
  readonly detail: Readonly<Record<string, unknown>>
}

export type ServerKind = 'stdio' | 'http'

/** Everything that happens in the house and that somebody elsewhere may want to know. */
export interface Facts {
  server_added: { readonly server_id: string; readonly type: ServerKind }
  server_updated: {
    readonly server_id: string
    readonly type: ServerKind
    readonly changed: readonly string[]
  }
  server_removed: { readonly server_id: string; readonly type: ServerKind }
  server_status: { readonly server_id: string; readonly state: ServerState; readonly cause: string }
  server_resources: { readonly server_id: string; readonly resources: Resources }
  /** As a server wrote it: raw, and never to leave the house. `cut` bytes of it are missing. */
  server_line: {
    readonly server_id: string
    readonly stream: Stream
    readonly text: string
    readonly cut: number
  }
  /** What a server says unasked over the protocol: raw, and only for agents that listen to it. */
  server_note: { readonly server_id: string; readonly method: string; readonly params: unknown }
  /** What a server offers, or what agents may see of it, is no longer what it was before. Names of tools. */
  tools_changed: {
    readonly server_id: string
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly string[]
    /** From what was approved to what is offered now. */
    readonly diffs: readonly ToolDiff[]
    readonly tool_count: number
  }
  /** The same of what it offers besides tools. Templates count as resources. */
  lists_changed: {
    readonly server_id: string
    readonly kinds: readonly ('prompts' | 'resources')[]
  }
  /** A conversation with an HTTP server has begun: it knows nothing of what was asked for in the one before. */
  http_server_connected: { readonly server_id: string }
  /** An HTTP server was looked after. */
  http_server_check: {
    readonly server_id: string
    readonly ok: boolean
    readonly duration_ms: number
    readonly error_code: string | null
    readonly status: string
  }
  call_started: Call
  call_completed: Call & {
    /** From the moment it came until its answer was there: the sum of the next three. */
    readonly duration_ms: number
    /** What Toolroom itself took of it. */
    readonly queue_ms: number
    /** Waiting for the server to start, or for the connection to it. */
    readonly start_ms: number
    /** From the moment the server was given it. */
    readonly server_ms: number
    readonly status: 'ok' | 'error' | 'timeout' | 'cancelled'
    readonly error_code: string | null
    readonly response_bytes: number
  }
  /** An agent's file is not what it was. Names only. */
  agent_changed: {
    readonly agent_type: string
    readonly scope: string
    readonly path: string
    readonly by: 'toolroom' | 'other'
    /** What somebody else did to entries that Toolroom wrote. */
    readonly drift: readonly { readonly name: string; readonly verdict: 'external_edit' | 'entry_removed' }[]
  }
  /** An agent is to see other tools at the gateway than before. */
  agent_tools_changed: { readonly agent_type: string }
  /** A package is being installed or updated. `line` is what npm wrote, secrets masked. */
  package_progress: {
    readonly job_id: string
    readonly package: string
    readonly status: string
    readonly phase: string
    readonly line: string | null
  }
  /** A change was committed together with this audit row. */
  audited: AuditEntry & { readonly audit_id: number; readonly ts: number }
  /** A line was accepted by the log pipeline, redacted. */
  log: LogEntry
}

/** One call of one tool. Never its arguments or its result. */
export interface Call {
  readonly call_id: number
  readonly server_id: string
  readonly tool: string
  readonly agent_type: string | null
  readonly request_id: string | null
}

type Listener<F> = (fact: F) => void

/** Commands travel by function call, facts travel here. Publishing is synchronous and never throws. */
export class FactBus {
  readonly #listeners = new Map<keyof Facts, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  /** A listener that throws must not undo what has already happened, so its error goes to `onError`. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Returns the function that ends the subscription. */
  on<K extends keyof Facts>(kind: K, listener: Listener<Facts[K]>): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set()
    this.#listeners.set(kind, listeners.add(listener as Listener<never>))
    return () => listeners.delete(listener as Listener<never>)
  }

  publish<K extends keyof Facts>(kind: K, fact: Facts[K]): void {
    for (const listener of this.#listeners.get(kind) ?? []) {
      try {
        ;(listener as Listener<Facts[K]>)(fact)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
