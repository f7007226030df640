import type { Isolation } from './isolation-options.ts'
import type { LastError } from './server-state.ts'

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
