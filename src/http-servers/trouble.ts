import type { Trouble, Upstream } from '../upstreams/upstream.ts'
import type { ConnectionState } from './connection-watch.ts'

/** A disabled server has none. */
export function troubleOf({ status, nextCheckAt, lastError }: ConnectionState): Upstream['trouble'] {
  const cause = { message: lastError?.message ?? status, hint: lastError?.hint ?? null }
  switch (status) {
    case 'connected':
    case 'disabled':
      return undefined
    case 'unknown':
      return nextCheckAt === null ? undefined : 'unsettled'
    case 'auth_required':
    case 'unreachable':
    case 'error':
    case 'degraded':
      return { ...WORDS[status], ...cause }
  }
}

const WORDS = {
  auth_required: { kind: 'login_needed', what: 'requires a login' },
  unreachable: { kind: 'failed', what: 'cannot be reached' },
  error: { kind: 'failed', what: 'does not answer as an MCP server' },
  degraded: { kind: 'degraded', what: 'failed its last check' },
} as const satisfies Record<string, Pick<Trouble, 'kind' | 'what'>>
