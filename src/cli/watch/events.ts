import type { Run } from '../frame/context.ts'
import { toned } from '../output/line.ts'
import { clock } from './clock.ts'
import { filtersOf, showNewest } from './follow.ts'

/** `toolroom events [SERVER...]` */
export const run: Run = async (context) => {
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
