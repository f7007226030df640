import { findNamed } from './find-named.ts'
import { counted } from './human-readable.ts'
import { type Span, type Tone, toned } from './printed-line.ts'
import type { Api, Schemas } from './service-client.ts'

export type StdioServer = Schemas['Server']
export type HttpServer = Schemas['HttpServer']
export type AnyServer = StdioServer | HttpServer

type Health = AnyServer['health']
type State = readonly [sign: string, word: string, tone: Tone | undefined]

/** The same signs and words as in the dashboard. The service decides which of them a server has. */
const STATES: Readonly<Record<Health['state'], State>> = {
  running: ['●', 'running', 'ok'],
  connected: ['●', 'connected', 'ok'],
  starting: ['◐', 'starting', undefined],
  stopping: ['◐', 'stopping', undefined],
  idle: ['◌', 'idle', 'dim'],
  not_allowed: ['▲', 'not allowed', 'warn'],
  not_tried: ['◇', 'not tried', undefined],
  not_checked: ['?', 'not checked', undefined],
  stopped: ['○', 'stopped', 'dim'],
  disabled: ['○', 'disabled', 'dim'],
  degraded: ['▲', 'degraded', 'warn'],
  crashed: ['✕', 'crashed', 'err'],
  failed: ['✕', 'failed', 'err'],
  auth_required: ['▲', 'needs sign-in', 'warn'],
  unreachable: ['✕', 'unreachable', 'err'],
  error: ['✕', 'error', 'err'],
}

/** `● running`, in its colour. */
export function stateSpan({ health }: Pick<AnyServer, 'health'>, more = ''): Span {
  const [sign, word, tone] = STATES[health.state] ?? ['?', String(health.state), undefined]
  return toned(tone, `${sign} ${word}${more}`)
}

/** Whether the server should work and does not, or not well. It may be starting again after a crash. */
export const needsHelp = (server: AnyServer): boolean =>
  ['unhealthy', 'degraded'].includes(server.health.level) ||
  server.health.state === 'not_allowed' ||
  (server.type === 'stdio' && server.status === 'starting' && server.restart_count > 0)

export const TRY_ALL = 'toolroom test --all'

/** `13 servers: 9 work, 3 were not tried yet, 1 needs you`. */
export function standing(servers: readonly AnyServer[]): string {
  const untried = servers.filter(isUntried).length
  const troubled = servers.filter(needsHelp).length
  const works = servers.filter((server) => server.health.works && !needsHelp(server)).length
  const all = counted(servers.length, 'server')
  if (works === servers.length) return `${all}. All work.`
  const rest = servers.length - works - untried - troubled
  const parts = [
    `${works} ${works === 1 ? 'works' : 'work'}`,
    untried > 0 && `${untried} ${untried === 1 ? 'was' : 'were'} not tried yet`,
    troubled > 0 && `${troubled} ${troubled === 1 ? 'needs' : 'need'} you`,
    rest > 0 && `${rest} ${rest === 1 ? 'is' : 'are'} off or starting`,
  ]
  return `${all}: ${parts.filter(Boolean).join(', ')}`
}

export const isUntried = ({ health }: Pick<AnyServer, 'health'>): boolean => health.state === 'not_tried'

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
