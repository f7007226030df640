import type { LoggedLine, Stream } from './log.ts'
import type { RepairAction } from './repair-action.ts'
import type { LastError, Resources, ServerState } from './server-state.ts'
import type { ToolDiff } from './tool-fields.ts'

/** One change for the audit trail. It never contains a secret. */
export interface AuditEntry {
  readonly action: string
  /** The id of what changed. */
  readonly subject: string
  readonly request_id: string | null
  /** What changed, secrets masked. */
  readonly detail: Readonly<Record<string, unknown>>
}

export type ServerKind = 'stdio' | 'http'

/** Every event that a wing publishes for the others, with its payload. */
export interface Facts {
  server_added: { readonly server_id: string; readonly type: ServerKind }
  server_updated: {
    readonly server_id: string
    readonly type: ServerKind
    readonly changed: readonly string[]
  }
  server_removed: { readonly server_id: string; readonly type: ServerKind }
  server_status: {
    readonly server_id: string
    readonly state: ServerState
    readonly cause: string
    /** Why its last process ended, unless that was requested. */
    readonly error?: LastError | null
  }
  /** A process of a STDIO server was started and listed its tools, or it was not, or it has ended with an error. */
  server_tried: {
    readonly server_id: string
    /** Of the engine: `server_id`, or the id of an instance. */
    readonly process_id: string
    readonly error: LastError | null
    readonly crashed: boolean
  }
  /** The desired state of a server has changed. */
  server_desired: { readonly server_id: string }
  server_resources: { readonly server_id: string; readonly resources: Resources }
  /** A line that a server wrote: raw, so it must be redacted before it leaves the service. `cut` bytes are missing. */
  server_line: {
    readonly server_id: string
    readonly stream: Stream
    readonly text: string
    readonly cut: number
    /** The number of the instance that wrote it, when the server runs for one client alone. */
    readonly instance?: string | undefined
  }
  /** A notification of a server: raw, and only for agents that are subscribed to it. */
  server_note: {
    readonly server_id: string
    readonly method: string
    readonly params: unknown
    /** The only client that it concerns. Null: it concerns one client, but it is unknown which. */
    readonly client_id?: string | null | undefined
    /** The only agent that it concerns. */
    readonly agent_type?: string | undefined
  }
  /** Instances of a server were started or have ended. */
  server_instances: { readonly server_id: string }
  /** The tools of a server, or those that agents may see, have changed. The lists have their names. */
  tools_changed: {
    readonly server_id: string
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly string[]
    /** From the approved definition to the current one. */
    readonly diffs: readonly ToolDiff[]
    readonly tool_count: number
  }
  /** The prompts or resources of a server have changed. Templates count as resources. */
  lists_changed: {
    readonly server_id: string
    readonly kinds: readonly ('prompts' | 'resources')[]
  }
  /** A session with an HTTP server has started. Subscriptions of the previous session are lost. */
  http_server_connected: { readonly server_id: string }
  /** A named secret was set or deleted. */
  secret_changed: { readonly name: string }
  /** An HTTP server was checked. */
  http_server_check: {
    readonly server_id: string
    readonly ok: boolean
    readonly duration_ms: number
    readonly error_code: string | null
    readonly status: string
  }
  /** A login at an HTTP server has begun or ended, or its state has changed. */
  http_server_login: {
    readonly server_id: string
    /** `auth.state` of the server. */
    readonly state: string
    /** Until when a login that has begun can be finished, ISO 8601. */
    readonly pending_until: string | null
    readonly error_code: string | null
  }
  call_started: Call
  call_completed: Call & {
    readonly started_at: number
    /** From the request to the response: the sum of the next three. Null: the call was refused before it was sent. */
    readonly duration_ms: number | null
    /** Spent in Toolroom. */
    readonly queue_ms: number
    /** Spent waiting for the server to start or for its connection. */
    readonly start_ms: number
    /** Spent in the server. */
    readonly server_ms: number
    readonly status: 'ok' | 'error' | 'timeout' | 'cancelled'
    readonly error_code: string | null
    /** What went wrong, in a sentence: redacted. It may quote the server, so the live stream leaves it out. */
    readonly error_message: string | null
    readonly response_bytes: number
  }
  /** An agent's file has changed. Names only. */
  agent_changed: {
    readonly agent_type: string
    readonly scope: string
    readonly path: string
    readonly by: 'toolroom' | 'other'
    /** Changes by other programs to entries that Toolroom wrote. */
    readonly drift: readonly { readonly name: string; readonly verdict: 'external_edit' | 'entry_removed' }[]
  }
  /** The gateway offers other tools to this agent than before. */
  agent_tools_changed: { readonly agent_type: string }
  /** A package is being installed or updated. `line` is npm's output, secrets masked. */
  package_progress: {
    readonly job_id: string
    readonly package: string
    readonly status: string
    readonly phase: string
    readonly line: string | null
  }
  /** An image is being downloaded. `line` is the engine's output. */
  image_progress: {
    readonly job_id: string
    readonly image: string
    readonly status: string
    readonly phase: string
    readonly line: string | null
  }
  /** A notice was opened, was repeated, was seen, or is resolved. Without its evidence. */
  notice: PublicNotice
  /** A change was committed with this audit row. */
  audited: AuditEntry & { readonly audit_id: number; readonly ts: number }
  /** A line was stored, or is lost because it could not be. It is redacted. */
  log: LoggedLine
}

/** What needs a person, without what a server wrote. */
export interface PublicNotice {
  readonly id: number
  readonly kind: string
  readonly level: string
  readonly server_id: string | null
  readonly agent_type: string | null
  readonly text: string
  readonly action: { readonly label: string; readonly route: string } & RepairAction
  readonly at: string
  readonly count: number
  readonly seen_at: string | null
  readonly resolved_at: string | null
}

/** One tool call, without its arguments and its result. */
export interface Call {
  readonly call_id: number
  /** Null when the call reached no server, and it is not known which one was meant. */
  readonly server_id: string | null
  readonly tool: string
  readonly agent_type: string | null
  /** The session of a legacy agent. Modern agents and the API have none. */
  readonly session_id: string | null
  readonly request_id: string | null
  /** The size of the arguments. */
  readonly request_bytes: number
}

type Listener<F> = (fact: F) => void

/** The event bus. Publishing is synchronous and never throws. Commands are plain function calls. */
export class FactBus {
  readonly #listeners = new Map<keyof Facts, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  /** Receives the errors of listeners: what they listen to has already happened. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Returns the function that ends the subscription. */
  on<K extends keyof Facts>(kind: K, listener: Listener<Facts[K]>): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set()
    this.#listeners.set(kind, listeners.add(listener as Listener<never>))
    return () => listeners.delete(listener as Listener<never>)
  }

  /** For facts that are costly to find out. */
  hasListeners(kind: keyof Facts): boolean {
    return (this.#listeners.get(kind)?.size ?? 0) > 0
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
