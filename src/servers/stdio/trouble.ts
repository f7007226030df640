import type { LastError } from '../../kernel/server-state.ts'
import type { Trouble, Upstream } from '../shared/upstream.ts'
import type { ServerLife } from './engine.ts'

/** A server that sleeps, or that a person has stopped, has none. */
export function troubleOf({ state, lastError, lastExit, client }: ServerLife): Upstream['trouble'] {
  switch (state.status) {
    case 'backoff':
      return crash(state.error)
    case 'failed':
      return { kind: 'failed', what: 'cannot start', ...causeOf(state.error) }
    case 'stopped':
      return lastError && lastExit?.code !== 0 ? crash(lastError) : undefined
    case 'starting':
    case 'stopping':
      return 'unsettled'
    case 'idle':
      return undefined
    case 'running':
      return client && degraded(client)
  }
}

const crash = (error: LastError): Trouble => ({
  kind: 'crashed',
  what: error.code === 'start_timeout' ? 'did not start in time' : 'crashed',
  ...causeOf(error),
})

const causeOf = ({ message, hint }: LastError) => ({ message, hint })

function degraded({ listError, strayLines }: NonNullable<ServerLife['client']>): Trouble | undefined {
  if (listError)
    return { kind: 'degraded', what: 'is running, but cannot list its tools', ...causeOf(listError) }
  if (strayLines === 0) return undefined
  return {
    kind: 'degraded',
    what: 'is running, but writes text to stdout that is not an MCP message',
    message: `${strayLines} ${strayLines === 1 ? 'line' : 'lines'} on stdout so far`,
    hint: 'Make it log to stderr. The lines are in its log',
  }
}
