import type { LastError, ServerState } from '../kernel/server-state.ts'
import type { Health } from './live.schema.ts'

export interface Signs {
  readonly state: ServerState
  readonly lastError: LastError | null
  readonly toolCount: number | null
  readonly restartCount: number
  /** Milliseconds since the handshake; null unless it runs. */
  readonly uptimeMs: number | null
  /** Lines on stdout that are no messages, of this start. */
  readonly strayLines: number
}

/** A restart is news for as long as another failure would count as the same trouble. */
const RECENT_MS = 5 * 60_000

/** How a server is, in one sentence, and what to do about it. A colour without a reason helps nobody. */
export function healthOf(signs: Signs): Health {
  const { state, lastError } = signs
  switch (state.status) {
    case 'running':
      return healthOfRunning(signs)
    case 'idle':
      return { level: 'healthy', summary: `Asleep${having(signs)}; a call wakes it`, action: null }
    case 'starting':
      return { level: 'unknown', summary: 'Starting', action: null }
    case 'stopping':
      return { level: 'unknown', summary: 'Stopping', action: null }
    case 'backoff':
    case 'failed':
      return { level: 'unhealthy', summary: state.error.message, action: state.error.hint }
    case 'stopped':
      return lastError
        ? { level: 'unhealthy', summary: lastError.message, action: lastError.hint }
        : { level: 'unknown', summary: 'Stopped', action: null }
  }
}

function healthOfRunning({ strayLines, restartCount, uptimeMs, ...signs }: Signs): Health {
  if (strayLines > 0) {
    const lines = strayLines === 1 ? 'a line' : `${strayLines} lines`
    const summary = `Running, but it wrote ${lines} to stdout that ${strayLines === 1 ? 'is' : 'are'} no MCP message`
    return { level: 'degraded', summary, action: 'Make it log to stderr; its log shows the lines' }
  }
  if (restartCount > 0 && (uptimeMs ?? 0) < RECENT_MS) {
    const times = restartCount === 1 ? 'once' : `${restartCount} times`
    const summary = `Running again after it ended by itself; restarted ${times}`
    return { level: 'degraded', summary, action: 'last_exit and its log say why' }
  }
  return { level: 'healthy', summary: `Running${having(signs)}`, action: null }
}

const having = ({ toolCount }: Pick<Signs, 'toolCount'>): string =>
  toolCount === null ? '' : ` with ${toolCount} ${toolCount === 1 ? 'tool' : 'tools'}`
