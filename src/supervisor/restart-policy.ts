import { RESTART_DELAYS_S, type RestartRules } from '../kernel/server-plan.ts'
import type { LastError } from '../kernel/server-state.ts'
import type { Exit } from './platform/platform.ts'
import { StartFailure } from './process/start-child.ts'

/** How a process ended without having been stopped. */
export type ProcessEnd =
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  /** Ended by Toolroom, because there was no handshake within `start_s`. */
  | { readonly kind: 'never_ready' }
  /** Ended by Toolroom, because it closed its stdin or stdout. */
  | { readonly kind: 'pipe_closed' }

export interface EndedRun {
  readonly end: ProcessEnd
  /** Time in `running`, from the monotonic clock; 0 if it never was. */
  readonly ranMs: number
  /** `attempt` of the retry that led to this start; 0 if a user or a call started it. */
  readonly failuresInRow: number
  /** The age of its recent starts, in any order. Those older than a minute may be omitted. */
  readonly startsMsAgo: readonly number[]
  /** In [0, 1): spreads the restarts of servers that ended at the same time. */
  readonly random: number
}

type Restart =
  | { readonly kind: 'stop' }
  /** `attempt` counts consecutive failures, including this one. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly attempt: number }

const SPREAD = 0.2
const AT_ONCE_AFTER_MS = 10_000
const RESET_AFTER_MS = 5 * 60_000
const STARTS_PER_WINDOW = 6
const WINDOW_MS = 60_000

/** These causes of a failed start stay until a person changes something. */
const PERMANENT: ReadonlySet<string> = new Set([
  'package_not_found',
  'missing_setting',
  'module_not_found',
  'native_part_missing',
])

export const isPermanent = ({ code }: LastError): boolean => PERMANENT.has(code)

/** Whether and when to restart a server that ended. Not for configuration errors, which need the user. */
export function restartAfter(rules: RestartRules, ending: EndedRun): Restart {
  if (!allows(rules.policy, ending.end)) return { kind: 'stop' }
  const attempt = ending.ranMs >= RESET_AFTER_MS ? 1 : ending.failuresInRow + 1
  const delayMs = Math.max(delayOf(rules, ending, attempt), waitForWindow(ending.startsMsAgo))
  return { kind: 'retry', delayMs, attempt }
}

function allows(policy: RestartRules['policy'], end: ProcessEnd): boolean {
  switch (policy) {
    case 'never':
      return false
    case 'always':
      return true
    case 'on_failure':
      return end.kind !== 'exit' || end.code !== 0
  }
}

function delayOf({ max_delay_s }: RestartRules, { end, ranMs, random }: EndedRun, attempt: number): number {
  const isFirstCrash = attempt === 1 && ranMs > 0
  if (end.kind !== 'never_ready' && (isFirstCrash || ranMs >= AT_ONCE_AFTER_MS)) return 0
  const step = RESTART_DELAYS_S[attempt - 1]
  if (step === undefined) return max_delay_s * 1000
  const spread = 1 - SPREAD + 2 * SPREAD * random
  return Math.round(Math.min(step * spread, max_delay_s) * 1000)
}

/**
 * At most 6 starts in 60 s, even with a small `max_delay_s`: the next start waits until the sixth last is a minute old.
 */
function waitForWindow(startsMsAgo: readonly number[]): number {
  const sixthLast = startsMsAgo.toSorted((a, b) => a - b)[STARTS_PER_WINDOW - 1]
  return sixthLast === undefined ? 0 : Math.max(0, Math.ceil(WINDOW_MS - sixthLast))
}

/** How one run of a server ended. */
export type Ending =
  /** By a stop or a restart. */
  | { readonly kind: 'requested' }
  /** The user has to change something first. */
  | { readonly kind: 'failed'; readonly error: LastError }
  | { readonly kind: 'ended'; readonly error: LastError; readonly end: ProcessEnd; readonly ranMs: number }

/** The ending of a start that was rejected. */
export function endingOf(error: unknown): Ending {
  if (!(error instanceof StartFailure)) {
    const message = `Internal error during the start: ${error instanceof Error ? error.message : String(error)}`
    return {
      kind: 'failed',
      error: {
        code: 'internal_error',
        message,
        hint: 'Read the log, then start it again',
        action: { kind: 'see_log' },
      },
    }
  }
  if (!error.retry) return { kind: 'failed', error: error.error }
  return { kind: 'ended', error: error.error, end: { kind: 'never_ready' }, ranMs: 0 }
}

export const endOf = ({ code, signal }: Exit): ProcessEnd =>
  signal === null ? { kind: 'exit', code: code ?? 0 } : { kind: 'signal', signal }

/** An exit with code 0 after the handshake, which is no error of a server that a call starts again. */
export const isCleanExit = (ending: Ending): boolean =>
  ending.kind === 'ended' && ending.ranMs > 0 && ending.end.kind === 'exit' && ending.end.code === 0
