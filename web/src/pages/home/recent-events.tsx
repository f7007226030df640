import type { ReactNode } from 'react'
import type { EventRow } from '../../data/api.ts'
import { t } from './messages.ts'

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

/** A few words, with the name in bold. The whole text is in the tooltip and in the log. */
export function sentenceOf(event: EventRow, name: string | null, short: (text: string) => string): ReactNode {
  const { kind, data, text } = event
  const bold = { name: <b className="strong">{name}</b> }
  if (kind === 'server_status') {
    const code = /exited with code (\d+)/.exec(String(data.cause))?.[1]
    if (data.status === 'backoff' && code !== undefined) return t.rich('was_backoffExit', { ...bold, code })
    const status = STATUSES.find((each) => each === data.status)
    if (status) return t.rich(`was_${status}`, bold)
  }
  if (kind === 'audit' && data.action === 'login') return t('did_login')
  const action = ACTIONS.find((each) => each === data.action)
  if (kind === 'audit' && action && name !== null) return t.rich(`did_${action}`, bold)
  const [, what, subject] = (kind === 'audit' && /^([^:]+: )(.+)$/.exec(text)) || []
  if (what !== undefined)
    return (
      <>
        {capital(what)}
        <b className="strong">{subject}</b>
      </>
    )
  const [first = text] = short(text).split(/\.\s/, 1)
  const [, quoted, rest] = /^'([^']+)'(.*)$/.exec(first) ?? []
  if (quoted === undefined) return capital(first)
  return (
    <>
      <b className="strong">{quoted}</b>
      {rest}
    </>
  )
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const STATUSES = [
  'running',
  'connected',
  'starting',
  'stopping',
  'idle',
  'stopped',
  'backoff',
  'failed',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
] as const
const ACTIONS = ['server_added', 'server_updated', 'server_removed', 'server_stopped'] as const
