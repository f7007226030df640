import type { Trouble, Upstream } from '../shared/upstream.ts'
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
    case 'error':
      return { ...(isSetUp(lastError) ? WORDS.error : INCOMPLETE), ...cause }
    case 'auth_required':
    case 'unreachable':
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

const INCOMPLETE = { kind: 'failed', what: 'lacks a setting, so Toolroom does not connect to it' } as const

/** False when a variable or a secret that it refers to is not set, or does not fit. */
const isSetUp = (error: ConnectionState['lastError']): boolean =>
  error?.code !== 'missing_setting' && error?.code !== 'invalid_setting'
