import type { LastError, ServerState } from '../../kernel/server-state.ts'
import type { Health } from './server-fields.ts'
import type { Try } from './tries.ts'
import type { Trouble } from './upstream.ts'

/** What is known of a server. */
export interface Known {
  readonly status:
    | ServerState['status']
    | 'unknown'
    | 'connected'
    | 'degraded'
    | 'auth_required'
    | 'unreachable'
    | 'error'
    | 'disabled'
  /** Why its current process, or its connection, does not work. */
  readonly error: LastError | null
  readonly lastTry: Try | null
  /** What prevents a start or a connection, found without one. */
  readonly obstacle: LastError | null
  /** False if a person has stopped it. */
  readonly isWanted: boolean
  /** What does not work although it runs. */
  readonly flaw: Pick<Health, 'summary' | 'action'> | undefined
  readonly toolCount: number | null
}

export interface Judgement {
  readonly health: Health
  /** Why a server that should work does not; null for one that does, or of which it is not known. */
  readonly error: LastError | null
}

/**
 * Whether a server works, in one place for all lists, pages, notices and commands: a server works when it has worked since
 * its definition last changed, and nothing is known that prevents it now. Always has a reason, and an action where one is
 * needed.
 */
export function judge(known: Known): Judgement {
  const { status, error, lastTry, obstacle } = known
  if (obstacle?.action?.kind === 'allow_outgoing') {
    const { health } = judged(known, 'unknown', 'not_allowed', obstacle.message, obstacle.hint)
    return { health, error: obstacle }
  }
  switch (status) {
    case 'running':
    case 'connected':
      return ofRunning(known, status)
    case 'degraded':
      return judged(known, 'degraded', status, `The last check failed: ${error?.message}`, error?.hint)
    case 'starting':
    case 'stopping':
      return judged(known, 'unknown', status, status === 'starting' ? 'Starting' : 'Stopping')
    case 'backoff':
      return failed(known, 'crashed', error)
    case 'auth_required':
    case 'unreachable':
    case 'error':
      return failed(known, status, error)
    case 'failed':
      return lastTry === null ? ofResting(known) : failed(known, 'failed', error)
    case 'disabled':
      return judged(known, 'unknown', status, 'Disabled')
    case 'stopped':
      return known.isWanted ? ofResting(known) : ofStopped(known)
    case 'idle':
    case 'unknown':
      return ofResting(known)
  }
}

/** Of a server that is off because a person has not allowed what it would get. */
export function heldTrouble({ error }: Judgement): Trouble | undefined {
  if (!error) return undefined
  const { message, hint, action } = error
  return { kind: 'not_allowed', what: 'is off', message, hint, action }
}

type State = Health['state']

function ofRunning(known: Known, status: 'running' | 'connected'): Judgement {
  const { lastTry, flaw, toolCount } = known
  if (lastTry === null) {
    const summary = 'Not tried yet with the current value of a secret. It runs with the one before'
    return judged(known, 'unknown', 'not_tried', summary, 'Restart it')
  }
  if (flaw) return judged(known, 'degraded', 'degraded', flaw.summary, flaw.action)
  if (lastTry.error)
    return judged(
      known,
      'degraded',
      'degraded',
      `Running, but its last start failed: ${lastTry.error.message}`,
    )
  const word = status === 'running' ? 'Running' : 'Connected'
  return judged(
    known,
    'healthy',
    status,
    `${word}${withTools(status === 'running' ? toolCount : (toolCount ?? 0))}`,
  )
}

/** No process or connection exists, and none is meant to be opened before it is needed. */
function ofResting(known: Known): Judgement {
  const { status, lastTry, obstacle, toolCount } = known
  if (obstacle) return failed(known, 'failed', obstacle)
  if (lastTry?.error && !lastTry.obstructed)
    return failed(known, lastTry.crashed ? 'crashed' : 'failed', lastTry.error)
  if (lastTry === null) {
    const summary = 'Not tried yet since it was added or changed'
    return judged(known, 'unknown', 'not_tried', summary, status === 'unknown' ? null : TRY)
  }
  if (lastTry.error) {
    const summary = 'Not tried yet since what its last start lacked is there'
    return judged({ ...known, lastTry: null }, 'unknown', 'not_tried', summary, TRY)
  }
  if (status === 'unknown')
    return judged(
      known,
      'unknown',
      'not_checked',
      'It worked when it was last checked. Not checked since Toolroom started',
    )
  if (status !== 'idle') return judged(known, 'unknown', 'stopped', 'Stopped')
  return judged(known, 'healthy', 'idle', `Asleep${withTools(toolCount)}; a call wakes it`)
}

/** A person has stopped it, so nothing has to be done. */
function ofStopped(known: Known): Judgement {
  const { obstacle } = known
  if (!obstacle) return judged(known, 'unknown', 'stopped', 'Stopped')
  return judged(
    known,
    'unknown',
    'stopped',
    `Stopped. It could not start: ${obstacle.message}`,
    obstacle.hint,
  )
}

function failed(known: Known, state: State, error: LastError | null): Judgement {
  const { health } = judged(known, 'unhealthy', state, error?.message ?? known.status, error?.hint)
  return { health, error }
}

function judged(
  { lastTry, obstacle }: Known,
  level: Health['level'],
  state: State,
  summary: string,
  action: string | null = null,
): Judgement {
  const works = level === 'unhealthy' || obstacle ? false : lastTry && lastTry.error === null
  return { health: { level, state, works, summary, action }, error: null }
}

const TRY = 'Start it once, or try all servers, to see whether it works'

const withTools = (count: number | null): string =>
  count === null ? '' : ` with ${count} ${count === 1 ? 'tool' : 'tools'}`
