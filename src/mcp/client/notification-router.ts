import { isObject } from '../../kernel/is-object.ts'
import { LOG_LINE_MAX_BYTES } from '../protocol/frames.ts'
import type { PeerEvents } from './json-rpc-peer.ts'

interface Routes {
  readonly onToolsChanged: () => void
  /** The text of a log notification. */
  readonly onLogText?: ((text: string) => void) | undefined
  /** Every notification that is of interest beyond this connection. */
  readonly onOther: PeerEvents['onNotification']
}

/** These concern requests of this connection only. */
const INTERNAL = [
  'notifications/cancelled',
  'notifications/progress',
  'notifications/subscriptions/acknowledged',
]

export function routeNotification({
  onToolsChanged,
  onLogText,
  onOther,
}: Routes): PeerEvents['onNotification'] {
  return (method, params, clientId) => {
    if (method === 'notifications/message') onLogText?.(logNotificationText(params))
    if (method === 'notifications/tools/list_changed') onToolsChanged()
    else if (!INTERNAL.includes(method)) onOther(method, params, clientId)
  }
}

/** A log notification as a log line: `[warning] db: connection lost`. */
function logNotificationText(params: unknown): string {
  const { level, logger, data } = isObject(params) ? params : {}
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  const source = typeof logger === 'string' ? `${logger.slice(0, 100)}: ` : ''
  const severity = typeof level === 'string' ? `[${level.slice(0, 20)}] ` : ''
  return `${severity}${source}${text}`.slice(0, LOG_LINE_MAX_BYTES)
}
