import type { Run } from '../run/context.ts'
import { toned } from '../run/line.ts'
import { clock } from '../run/units.ts'
import { filtersOf, showNewest } from './follow.ts'

/** `toolroom events [SERVER...]` */
export const showEvents: Run = async (context) => {
  const { api } = context
  const filters = await filtersOf(context)
  return showNewest(context, {
    read: (page) => api.get('/api/events', { query: { ...filters, ...page } }),
    line: ({ ts, kind, text }) => [toned('dim', `${clock(ts)} ${KINDS[kind].padEnd(7)} `), text],
    row: ({ ts, kind, server_id, agent_type, text }) => [ts, kind, server_id, agent_type, text],
    empty: 'No events.',
  })
}

const KINDS = { audit: 'change', server_status: 'server', notice: 'notice' } as const
