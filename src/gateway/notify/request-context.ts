import type { CallOptions } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import type { Era } from '../../mcp/protocol/mcp-constants.ts'
import { memberOf, type RawJson, withMembers } from '../../mcp/protocol/raw-json.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Subscriber } from './subscriber.ts'

/** One request of an agent. As a subscriber, it receives notifications until it is answered. */
export interface RequestContext extends Subscriber {
  readonly era: Era
  readonly requestId: string
  /** The session of a legacy agent. Modern agents have none. */
  readonly session: Session | undefined
  /** What accompanies the request to its server. */
  readonly options: CallOptions
}

/** Forwards progress with the agent's own token, which may be 0. Undefined when the agent has sent no token. */
export const progressTo = ({ notify }: RequestContext, progressToken: unknown) =>
  progressToken === undefined
    ? undefined
    : (progress: object) =>
        notify('notifications/progress', withMembers(progress, { progressToken }) as object)

/** The progress token in the params of a request: RawJson for a number that JavaScript cannot represent. */
export function progressTokenIn(params: RawJson): unknown {
  const value = metaOf(params.value).progressToken
  const isExact = typeof value !== 'number' || Number.isSafeInteger(value)
  return isExact ? value : memberOf(memberOf(params, '_meta'), 'progressToken')
}
