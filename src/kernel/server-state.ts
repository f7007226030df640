import type { RepairAction } from './repair-action.ts'

/** Why a server is not running, for the user. */
export interface LastError {
  readonly code: string
  /** One sentence with the cause. */
  readonly message: string
  /** What to do next, in one sentence. */
  readonly hint: string | null
  /** The same as data. Without it there is nothing that Toolroom can open or run. */
  readonly action?: RepairAction | undefined
}

/** The last step that a stop needed. */
export type StopStep = 'stdin_closed' | 'terminated' | 'killed'

/** The status of a tool server, with the fields that this status has. */
export type ServerState =
  | { readonly status: 'stopped' }
  | { readonly status: 'starting'; readonly attempt: number }
  /** `pid` is null in a container. */
  | { readonly status: 'running'; readonly pid: number | null; readonly started_at: number }
  /** Asleep: no process runs, its tools are still listed, and a call wakes it. */
  | { readonly status: 'idle'; readonly since: number }
  | { readonly status: 'stopping'; readonly step: StopStep }
  | {
      readonly status: 'backoff'
      readonly attempt: number
      readonly next_retry_at: number
      readonly error: LastError
    }
  | { readonly status: 'failed'; readonly error: LastError }

export const STATUSES = ['stopped', 'starting', 'running', 'idle', 'stopping', 'backoff', 'failed'] as const

/** How a process ended, with its last lines of stderr. */
export interface LastExit {
  readonly code: number | null
  readonly signal: string | null
  readonly at: number
  readonly stderr_tail: readonly string[]
}

export interface PastExit extends LastExit {
  /** From the start of the process. */
  readonly ranMs: number
}

/** How many exits of a server are kept. */
export const RECENT_EXITS = 5

/** The resources of a server and all its child processes. */
export interface Resources {
  /** Percent of one core since the last sample. */
  readonly cpu_pct: number
  readonly rss_bytes: number
  readonly processes: number
}

/** The live state of a server. `C` is its MCP connection. */
export interface Life<C> {
  readonly state: ServerState
  readonly restartCount: number
  readonly lastExit: LastExit | null
  /** The last ones, newest first. */
  readonly recentExits: readonly PastExit[]
  readonly lastError: LastError | null
  readonly resources: Resources | null
  /** Since the handshake; null unless it is running. */
  readonly uptimeMs: number | null
  /** Set while it is running. */
  readonly client: C | undefined
}

/** The code of a start that is not awaited, because it begins after the deadline of the request. */
export const RETRY_LATER = 'retry_later'

export type StartOutcome = { readonly ok: true } | { readonly ok: false; readonly error: LastError }
