import type { Run } from '../frame/context.ts'
import { counted } from '../output/units.ts'
import { isStdio, serverNamed } from './all-servers.ts'

/** `toolroom rm SERVER` */
export const run: Run = async ({ api, given, confirm }) => {
  const server = await serverNamed(api, given.word('SERVER'))
  const { id, name } = server
  const agents = isStdio(server) ? server.used_by_agents : []
  const used =
    agents.length === 0 ? '' : ` It is used by ${counted(agents.length, 'agent')}: ${agents.join(', ')}.`
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, id, used_by_agents: agents },
      lines: [`Would remove ${name}.${used}`, 'Nothing was changed (--dry-run).'],
    }
  await confirm(`Remove ${name}?${used}`)
  if (isStdio(server)) await api.delete('/api/servers/{id}', { path: { id } })
  else await api.delete('/api/http-servers/{id}', { path: { id } })
  return { json: { id, removed: true }, lines: [`Removed ${name}.`], next: 'next: toolroom ls' }
}
