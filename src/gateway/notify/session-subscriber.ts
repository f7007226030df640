import { memo } from '../../kernel/memo.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Subscriber } from './subscriber.ts'

/** A session as a subscriber. The same object for the same session. */
export const subscriberOf = memo((session: Session): Subscriber => {
  const { serverId, agentType, streams } = session
  const notify = (method: string, params: object): void => {
    const [pending] = session.open.values()
    // A log message of the only server belongs to the pending request. With several servers, that is unknown.
    const isRelated = method === 'notifications/message' && (serverId !== undefined || !streams.isListening)
    if (pending && isRelated) pending.notify(method, params)
    else streams.notify(method, params)
  }
  return { serverId, agentType, notify }
})
