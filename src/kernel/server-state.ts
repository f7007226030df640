/** Why a server is not running, for the user. */
export interface LastError {
  readonly code: string
  /** One sentence with the cause. */
  readonly message: string
  /** What to do next, in one sentence. */
  readonly hint: string | null
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

/** An installed package that lacks what install scripts would have built or downloaded. */
export interface SkippedScripts {
  readonly package: string
  /** The packages in its dependency tree whose install scripts did not run. */
  readonly of: readonly string[]
}

/** The program of a server, or why there is none to start. */
export type Program =
  | {
      readonly ok: true
      readonly command: string
      readonly args: readonly string[]
      readonly skippedScripts?: SkippedScripts | undefined
    }
  | { readonly ok: false; readonly error: LastError }

/** What to start: the program with its environment, references resolved. */
export type Launch =
  | (Extract<Program, { ok: true }> & { readonly env: Readonly<Record<string, string>> })
  | Extract<Program, { ok: false }>

/** Where the process of a server runs, and what it may reach there. */
export interface Isolation {
  readonly isolation: 'none' | 'sandbox' | 'container'
  readonly isolation_options: IsolationOptions
}

export interface IsolationOptions {
  /** Files and folders that it may change. */
  readonly write: readonly string[]
  /** Files and folders that it may read. */
  readonly read: readonly string[]
  readonly network: 'none' | 'full'
  readonly image: string | null
  readonly memory_mb: number
  readonly pids: number
}

/** Folders of a Linux system that every sandbox shows, as far as they exist. The last four: Nix, Homebrew, resolv.conf, certificates of openSUSE. */
export const SYSTEM_FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  '/run/current-system',
  '/home/linuxbrew/.linuxbrew',
  '/run/systemd/resolve',
  '/var/lib/ca-certificates',
]

/** How to run a server. */
export interface Plan {
  /**
   * Called at every start with the id of the process in the engine: a package may have been updated or removed in
   * between, and a secret may have changed.
   */
  readonly program: (id: string) => Launch
  readonly cwd: string | null
  readonly confinement: Isolation
  readonly restart: RestartRules
  readonly timeouts: Timeouts
  /** Seconds without a call after which it goes to sleep; null for never. */
  readonly sleeps_after_s: number | null
}

export interface RestartRules {
  readonly policy: 'on_failure' | 'always' | 'never'
  readonly max_delay_s: number
}

/** Seconds before each of the first restarts in a row. After them, `max_delay_s` counts. */
export const RESTART_DELAYS_S: readonly number[] = [1, 2, 4, 8, 16]

/**
 * The delays after the failures that would follow `attempt`, without their spread, up to the one that is repeated. For
 * a reader: they assume that each process ends at once.
 */
export function laterDelays(attempt: number, max_delay_s: number): number[] {
  const ladder = RESTART_DELAYS_S.slice(attempt).filter((step) => step < max_delay_s)
  return [...ladder, max_delay_s]
}

export interface Timeouts {
  readonly start_s: number
  /** Null: not set, so the limit depends on the caller. */
  readonly request_s: number | null
  readonly stop_s: number
}

/** An MCP server process on this computer whose agent has ended, with all its child processes. */
export interface Orphan {
  /** `<pid>-<start time>`: unique, whereas a pid is reused. */
  readonly id: string
  readonly pid: number
  /** Secrets masked. */
  readonly command: string
  readonly owner: string
  readonly age_s: number
  readonly rss_bytes: number
  readonly processes: number
}

/** The outcome of ending an orphan. `gone`: no such orphan, or no longer one. */
export type OrphanEnd =
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'ended' | 'not_permitted'; readonly orphan: Orphan }
