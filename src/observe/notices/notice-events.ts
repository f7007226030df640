import type { Notice } from './notice.ts'
import { type Notices, viewOf } from './notices.service.ts'

/** What `events/` needs: when notices were opened and resolved. From memory. */
export function noticeEvents(notices: Pick<Notices, 'all'>) {
  const matching = ({ server_ids, since = 0, until = Number.MAX_SAFE_INTEGER, before }: Query) =>
    notices
      .all()
      .flatMap(eventsOf)
      .filter(({ ts }) => ts >= since && ts <= until)
      .filter(({ server_id }) => !server_ids || (server_id !== null && server_ids.includes(server_id)))
      .filter(({ ts, id }) => !before || ts < before.ts || (ts === before.ts && id < before.id))
      .sort((a, b) => b.ts - a.ts || b.id - a.id)
  return {
    page: async (query: Query) => matching(query).slice(0, query.limit),
    count: async (query: Query) => Math.min(query.limit, matching(query).length),
  }
}

interface Query {
  readonly server_ids: readonly string[] | undefined
  readonly since?: number
  readonly until?: number
  readonly before: { readonly ts: number; readonly id: number } | undefined
  readonly limit: number
}

/** Even ids for notices that were opened, odd ones for those that are resolved. */
function eventsOf(notice: Notice) {
  const { id, at, resolved_at, server_id, agent_type, text } = notice
  const data = viewOf(notice)
  const opened = { id: id * 2, ts: at, server_id, agent_type, text, data }
  if (resolved_at === null) return [opened]
  return [opened, { ...opened, id: id * 2 + 1, ts: resolved_at, text: `Resolved: ${text}` }]
}
