import type { Run } from '../frame/context.ts'
import { findNamed } from '../frame/find-named.ts'
import { httpServers, LOGIN_MS } from './http-servers.ts'

/** `toolroom logout SERVER`: forgets the login at an HTTP server. */
export const run: Run = async ({ service, given }) => {
  const { id, name } = findNamed(await httpServers(service), given.word('SERVER'), 'HTTP server')
  const json = { server_id: id, server_name: name }
  if (given.is('dry-run'))
    return {
      lines: [`Would log out of ${name}. Nothing was changed (--dry-run).`],
      json: { dry_run: true, ...json },
    }
  const query = given.is('client') ? '?client=true' : ''
  await service.request('DELETE', `/api/http-servers/${id}/login${query}`, undefined, LOGIN_MS)
  return { lines: [`Logged out of ${name}`], json }
}
