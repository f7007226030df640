import { findNamed } from '../frame/find-named.ts'
import type { Api } from '../frame/typed-api.ts'
import type { AnyServer, StdioServer } from './state.ts'

/** Both kinds of server, in the order of their names. */
export async function allServers(api: Api): Promise<AnyServer[]> {
  const [stdio, http] = await Promise.all([api.get('/api/servers'), api.get('/api/http-servers')])
  const servers: AnyServer[] = [...stdio.items, ...http.items]
  return servers.sort((a, b) => a.name.localeCompare(b.name))
}

/** The server with this id or name, or the only one that begins with it. */
export const serverNamed = async (api: Api, given: string): Promise<AnyServer> =>
  findNamed(await allServers(api), given, 'server')

export const isStdio = (server: AnyServer): server is StdioServer => server.type === 'stdio'
