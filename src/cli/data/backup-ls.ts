import type { Run } from '../run/context.ts'
import { bytes, clock } from '../run/units.ts'
import { withOwnService } from '../service/own-service.ts'

/** `toolroom backup ls` */
export const listBackups: Run = async (context) => {
  const list = await withOwnService(context, (api) => api.get('/api/backups'))
  if (list.items.length === 0)
    return { json: list, plain: [], lines: ['No backups yet: Toolroom has changed no file of an agent.'] }
  return {
    json: list,
    table: {
      head: ['TIME', 'AGENT', 'BEFORE', 'SIZE', 'FILE'],
      rows: list.items.map(({ ts, agent_type, action, names, original, bytes: size, path }) => [
        clock(ts),
        agent_type,
        `${action.replace('_', ' ')} ${names.join(', ')}${original ? ' (first original)' : ''}`.trim(),
        bytes(size),
        path,
      ]),
    },
    plain: list.items.map(({ id, ts, agent_type, scope, action, path }) => [
      id,
      ts,
      agent_type,
      scope,
      action,
      path,
    ]),
    next: 'next: toolroom backup restore AGENT --dry-run',
  }
}
