import type { Run } from '../run/context.ts'
import { counted } from '../run/units.ts'

/** `toolroom presets ls` */
export const listPresets: Run = async ({ api }) => {
  const { items } = await api.get('/api/presets')
  const [first] = items
  if (!first)
    return {
      json: { items },
      plain: [],
      lines: ['No presets yet.'],
      next: 'next: toolroom presets save NAME --from AGENT',
    }
  return {
    json: { items },
    table: {
      head: ['PRESET', 'SERVERS', 'TOOLS', 'CHANGED'],
      rows: items.map(({ name, servers, tools, updated_at }) => [
        name,
        servers === null ? 'all' : servers.join(' '),
        Object.keys(tools).length === 0 ? 'all' : `chosen in ${counted(Object.keys(tools).length, 'server')}`,
        updated_at.slice(0, 16).replace('T', ' '),
      ]),
    },
    next: `next: toolroom presets apply ${first.name} AGENT`,
  }
}
