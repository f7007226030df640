import { findNamed } from './find-named.ts'
import { type Span, type Tone, toned } from './printed-line.ts'
import type { Api, Schemas } from './service-client.ts'

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

/** Both kinds of server, in the order of their names. */
export async function allServers(api: Api): Promise<AnyServer[]> {
  const [stdio, http] = await Promise.all([api.get('/api/servers'), api.get('/api/http-servers')])
  const servers: AnyServer[] = [...stdio.items, ...http.items]
  return servers.sort((a, b) => a.name.localeCompare(b.name))
}

/** The server with this id or name, or the only one that begins with it. */
export const serverNamed = async (api: Api, given: string): Promise<AnyServer> =>
  findNamed(await allServers(api), given, 'server')

/** The path of a server in the REST API. */
export const routeOf = (server: AnyServer) =>
  isStdio(server) ? '/api/servers/{id}' : '/api/http-servers/{id}'

export const isStdio = (server: AnyServer): server is StdioServer => server.type === 'stdio'
