import type { Schemas } from '../frame/typed-api.ts'
import { type Span, type Tone, toned } from '../output/line.ts'

export type StdioServer = Schemas['Server']
export type HttpServer = Schemas['HttpServer']
export type AnyServer = StdioServer | HttpServer

type State = readonly [sign: string, word: string, tone: Tone | undefined]

/** The same signs and words as in the dashboard. */
const STATES: Readonly<Record<AnyServer['status'], State>> = {
  running: ['●', 'running', 'ok'],
  starting: ['◐', 'starting', undefined],
  stopping: ['◐', 'stopping', undefined],
  idle: ['◌', 'idle', 'dim'],
  stopped: ['○', 'stopped', 'dim'],
  backoff: ['✕', 'crashed', 'err'],
  failed: ['✕', 'failed', 'err'],
  connected: ['●', 'connected', 'ok'],
  degraded: ['▲', 'degraded', 'warn'],
  auth_required: ['▲', 'needs sign-in', 'warn'],
  unreachable: ['✕', 'unreachable', 'err'],
  error: ['✕', 'error', 'err'],
  disabled: ['○', 'disabled', 'dim'],
  unknown: ['?', 'not checked', undefined],
}

/** A server that is not restarted after a crash is `stopped`, and its health says why. */
function stateOf({ status, health }: Pick<AnyServer, 'status' | 'health'>): State {
  const isDegraded = (status === 'running' || status === 'connected') && health.level === 'degraded'
  const isCrashed = status === 'stopped' && health.level === 'unhealthy'
  return STATES[isDegraded ? 'degraded' : isCrashed ? 'backoff' : status] ?? ['?', String(status), undefined]
}

/** `● running`, in its colour. */
export function stateSpan(server: Pick<AnyServer, 'status' | 'health'>, more = ''): Span {
  const [sign, word, tone] = stateOf(server)
  return toned(tone, `${sign} ${word}${more}`)
}

/** Whether the server should work and does not. It may be starting again after a crash. */
export const needsHelp = (server: AnyServer): boolean =>
  ['err', 'warn'].includes(stateOf(server)[2] ?? '') ||
  (server.type === 'stdio' && server.status === 'starting' && server.restart_count > 0)
