import type { LastError } from '../kernel/server-state.ts'
import type { Exit } from './platform/platform.ts'
import { StartFailure } from './process/start-child.ts'
import type { ProcessEnd } from './restart-policy.ts'

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
      error: { code: 'internal_error', message, hint: 'Read the log, then start it again' },
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
