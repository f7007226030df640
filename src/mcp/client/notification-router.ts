import { saidIn } from './log-notification-text.ts'

interface Hearing {
  readonly onToolsChanged: () => void
  /** What a server says for people, as text for the log. */
  readonly onSaid?: ((text: string) => void) | undefined
  /** For agents that listen. */
  readonly onNote?: ((method: string, params: unknown) => void) | undefined
}

/** They are about requests of this conversation, and mean nothing to anybody else. */
const BETWEEN_US = [
  'notifications/cancelled',
  'notifications/progress',
  'notifications/subscriptions/acknowledged',
]

/** What a server says unasked, told to whom it concerns. */
export function noteTo({ onToolsChanged, onSaid, onNote }: Hearing) {
  return (method: string, params: unknown): void => {
    if (method === 'notifications/message') onSaid?.(saidIn(params))
    if (method === 'notifications/tools/list_changed') onToolsChanged()
    else if (!BETWEEN_US.includes(method)) onNote?.(method, params)
  }
}
