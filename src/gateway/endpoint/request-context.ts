import type { CancelSignal } from '../../kernel/cancel.ts'
import type { OnServerRequest } from '../../protocol/call.ts'
import type { Era } from '../../protocol/versions.ts'
import type { Subscriber } from '../notify/subscriber.ts'
import type { Session } from '../sessions/sessions.ts'

/** One request of an agent. As a subscriber, it receives notifications until it is answered. */
export interface RequestContext extends Subscriber {
  readonly era: Era
  readonly requestId: string
  readonly signal: CancelSignal
  /** The session of a legacy agent. Modern agents have none. */
  readonly session: Session | undefined
  /** Forwards a server's request to the agent. */
  readonly onServerRequest: OnServerRequest
}
