import type { EventRow } from '../../data/api.ts'

export interface Told {
  readonly event: EventRow
  readonly times: number
}

/** A server that starts or stops is news only until it has. What is repeated is told once, with its number. */
export function tidied(events: readonly EventRow[]): Told[] {
  const newest = new Map<string | null, EventRow>()
  const told = new Map<string, { event: EventRow; times: number }>()
  for (const event of events) {
    const { kind, server_id, data } = event
    const isPassing = kind === 'server_status' && /^(?:starting|stopping)$/.test(String(data.status))
    const isOver = isPassing && newest.has(server_id)
    if (kind === 'server_status') newest.set(server_id, newest.get(server_id) ?? event)
    if (isOver || isSaidElsewhere(event)) continue
    const what = kind === 'server_status' ? `${server_id} ${String(data.status)}` : event.text
    const same = told.get(what)
    if (same) same.times += 1
    else told.set(what, { event, times: 1 })
  }
  return [...told.values()]
}

/**
 * A start is told by the status that follows, a stop by the user's own action, and a crash by its status. A server that
 * was only made ready for its first call did not go to sleep.
 */
function isSaidElsewhere({ kind, data }: EventRow): boolean {
  if (kind === 'audit') return /^server_(?:started|restarted)$/.test(String(data.action))
  if (kind === 'notice') return /^server_(?:crashed|failed)$|^login|^tools_/.test(String(data.kind))
  return (
    (data.status === 'stopped' && /user/.test(String(data.cause))) ||
    (data.status === 'idle' && data.cause === 'starts on demand')
  )
}
