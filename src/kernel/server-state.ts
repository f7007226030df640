/** What went wrong, for the person who must act. */
export interface LastError {
  readonly code: string
  /** One sentence with the cause. */
  readonly message: string
  /** What to do next, in one sentence. */
  readonly hint: string | null
}

/** How far a stop had to go. */
export type StopStep = 'stdin_closed' | 'terminated' | 'killed'

/** Where a tool server is in its life. Each status carries exactly the facts that are true in it. */
export type ServerState =
  | { readonly status: 'stopped' }
  | { readonly status: 'starting'; readonly attempt: number }
  | { readonly status: 'running'; readonly pid: number; readonly started_at: number }
  /** Asleep: nothing runs, its tools are still listed, and a call wakes it. */
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

/** The end of a process, with the last lines that it wrote for people. */
export interface LastExit {
  readonly code: number | null
  readonly signal: string | null
  readonly at: number
  readonly stderr_tail: readonly string[]
}

/** What a server and everything it started take. */
export interface Resources {
  /** Of one core, since the last sample. */
  readonly cpu_pct: number
  readonly rss_bytes: number
  readonly processes: number
}

/** What is known of a server's life; `C` is how it is spoken to. */
export interface Life<C> {
  readonly state: ServerState
  readonly restartCount: number
  readonly lastExit: LastExit | null
  readonly lastError: LastError | null
  readonly resources: Resources | null
  /** Milliseconds since the handshake; null unless it runs. */
  readonly uptimeMs: number | null
  /** While it runs. */
  readonly conversation: C | undefined
}

export type StartOutcome = { readonly ok: true } | { readonly ok: false; readonly error: LastError }

/** The program of a server, or why there is none to start. */
export type Program =
  | { readonly ok: true; readonly command: string; readonly args: readonly string[] }
  | { readonly ok: false; readonly error: LastError }

/** How a server is to be run. */
export interface Plan {
  /** Called at every start: a package may have been installed, updated or removed in between. */
  readonly program: () => Program
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly restart: RestartRules
  readonly timeouts: Timeouts
  /** After so many seconds without a call it goes to sleep; null: never. */
  readonly sleeps_after_s: number | null
}

export interface RestartRules {
  readonly policy: 'on_failure' | 'always' | 'never'
  readonly max_delay_s: number
}

export interface Timeouts {
  readonly start_s: number
  readonly request_s: number
  readonly stop_s: number
}
