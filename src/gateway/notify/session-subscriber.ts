import { memo } from '../../kernel/memo.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Hearer } from './subscriber.ts'

/** A session as somebody who hears what servers say. The same one for the same session. */
export const hearerOf = memo((session: Session): Hearer => {
  const { serverId, agentType, streams } = session
  const tell = (method: string, params: object): void => {
    const [first] = session.open.values()
    // With one server, what it says while it works is about that work. Of several, nobody knows.
    const isAbout = method === 'notifications/message' && (serverId !== undefined || !streams.isListening)
    if (first && isAbout) first.tell(method, params)
    else streams.tell(method, params)
  }
  return { serverId, agentType, tell }
})
