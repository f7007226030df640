import { logNotificationText } from './log-notification-text.ts'

interface Routes {
  readonly onToolsChanged: () => void
  /** The text of a log notification. */
  readonly onLogText?: ((text: string) => void) | undefined
  /** Every notification that is of interest beyond this connection. */
  readonly onOther: (method: string, params: unknown) => void
}

/** These concern requests of this connection only. */
const INTERNAL = [
  'notifications/cancelled',
  'notifications/progress',
  'notifications/subscriptions/acknowledged',
]

export function routeNotification({ onToolsChanged, onLogText, onOther }: Routes) {
  return (method: string, params: unknown): void => {
    if (method === 'notifications/message') onLogText?.(logNotificationText(params))
    if (method === 'notifications/tools/list_changed') onToolsChanged()
    else if (!INTERNAL.includes(method)) onOther(method, params)
  }
}
