import type { ReactNode } from 'react'
import type { EventRow } from '../../data/api.ts'
import { t } from './messages.ts'

/** A few words, with the name in bold. The whole text is in the tooltip and in the log. */
export function sentenceOf(event: EventRow, name: string | null, short: (text: string) => string): ReactNode {
  const { kind, data, text } = event
  const bold = { name: <b className="strong">{name}</b> }
  if (kind === 'server_status') {
    const code = /exited with code (\d+)/.exec(String(data.cause))?.[1]
    const hasCrashed = data.status === 'backoff' || (AT_REST.includes(String(data.status)) && code !== '0')
    if (hasCrashed && code !== undefined) return t.rich('was_backoffExit', { ...bold, code })
    if (data.status === 'idle' && data.cause === 'it was only tried') return t.rich('was_tried', bold)
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

/** After an exit without another start. */
const AT_REST = ['idle', 'stopped']
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
