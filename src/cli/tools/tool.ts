import type { Run } from '../run/context.ts'
import { isStdio, serverNamed } from '../servers/any-server.ts'
import { toolNamed, toolsOf } from './tools-of.ts'

/** `toolroom tool on|off SERVER TOOL...` */
export const switchTools: Run = async ({ api, given }) => {
  const enabled = given.word('STATE') === 'on'
  const server = await serverNamed(api, given.word('SERVER'))
  const known = await toolsOf(api, server)
  const names = given.words('TOOL').map((word) => toolNamed(known, word, server.id).name)
  const changed = names.filter((name) => known.some((tool) => tool.name === name && tool.enabled !== enabled))
  const json = { server_id: server.id, enabled, tools: names, changed }
  const state = enabled ? 'on' : 'off'
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, ...json },
      lines: [
        ...names.map(
          (name) => `Would switch ${name} ${state}${changed.includes(name) ? '' : ' (it is already)'}`,
        ),
        'Nothing was changed (--dry-run).',
      ],
    }
  const settings = names.map((name) => [name, { ...server.tools[name], enabled }] as const)
  const body = { tools: { ...server.tools, ...Object.fromEntries(settings) } }
  const path = { id: server.id }
  if (isStdio(server)) await api.patch('/api/servers/{id}', { path, body })
  else await api.put('/api/http-servers/{id}', { path, body })
  return {
    json,
    lines: names.map((name) => `${server.id} ${name} is ${state}`),
    next: `next: toolroom tools ${server.id}`,
  }
}
