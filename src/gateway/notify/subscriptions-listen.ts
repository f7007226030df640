import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { within } from '../../kernel/time-limit.ts'
import type { CallingClient, Params } from '../../mcp/protocol/call-options.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { Incoming } from '../messages/incoming-message.ts'
import { asRpcError, type RequestId } from '../messages/rpc-error.ts'
import type { Access } from '../sessions/sessions.ts'
import { type ChangeNotifications, isOwnFilter } from './change-notifications.ts'

interface Deps {
  readonly upstreams: Upstreams
  readonly changeNotifications: ChangeNotifications
  /** The sender of a request, as the client of servers. */
  readonly clientOf: (params: Params, access: Access) => CallingClient
  /** False when the server sends too many notifications. */
  readonly admits: (serverId: string) => boolean
}

/** Starts a `subscriptions/listen` request. Rejects with the error that the agent gets. */
export type Listen = (
  message: Incoming,
  id: RequestId,
  response: HttpResponse,
  access: Access,
) => Promise<void>

type Note = readonly [method: string, params: object]

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const ACKNOWLEDGE_MS = 5000
/** As long as a timer can be. */
const LONGEST_S = 24 * 86_400

/**
 * Toolroom notifies about lists and resources itself. Filters of extensions, such as `taskIds`, are passed on to the one
 * server of `/mcp/{server_id}` if it is modern, and so are its notifications for them. The stream ends when the server ends
 * it, so that the client can subscribe again.
 */
export function createListen({ upstreams, changeNotifications, clientOf, admits }: Deps): Listen {
  /** Resolves when the server has acknowledged the filters. */
  async function subscribeTo(serverId: string, params: Params, filters: Params, access: Access) {
    const ending = new AbortController()
    const early: Note[] = []
    let deliver = (...note: Note): void => void early.push(note)
    let acknowledge: (params: object) => void = () => {}
    const acknowledged = new Promise<object>((resolve) => {
      acknowledge = resolve
    })
    const ended = upstreams.relay(serverId, {
      method: 'subscriptions/listen',
      params: {},
      timeout_s: LONGEST_S,
      options: {
        signal: ending.signal,
        client: clientOf(params, access),
        modernParams: { requestState: undefined, raw: () => ({ ...params, notifications: filters }) },
        onNotification: (method, given) => {
          const sent = isObject(given) ? given : {}
          if (method === ACKNOWLEDGED) acknowledge(sent)
          else if (admits(serverId)) deliver(method, sent)
        },
      },
    })
    try {
      const first = await within(Promise.race([acknowledged, ended]), ACKNOWLEDGE_MS)
      const { notifications } = first === 'late' || !('notifications' in first) ? {} : first
      return {
        filters: isObject(notifications) ? notifications : {},
        end: () => ending.abort(),
        onEnd: (listener: () => void) => void ended.then(listener, listener),
        deliverTo(notify: (...note: Note) => void): void {
          deliver = notify
          for (const note of early) notify(...note)
        },
      }
    } catch (error) {
      throw asRpcError(error, 'modern')
    }
  }

  return async (message, id, response, access) => {
    const { serverId } = access
    const filters = otherFilters(message.params)
    const upstream = filters && serverId !== undefined ? upstreams.get(serverId) : undefined
    const isModern = await upstream?.modernCapabilities({}).catch(() => undefined)
    if (!upstream || !filters || !isModern) {
      changeNotifications.subscribe(message, id, response, access)
      return
    }
    changeNotifications.refuseTooMany(access)
    const subscription = await subscribeTo(upstream.id, message.params, filters, access)
    try {
      response.on('close', subscription.end)
      if (response.destroyed) subscription.end()
      else {
        const listener = changeNotifications.subscribe(message, id, response, access, subscription.filters)
        subscription.deliverTo(listener.notify)
        subscription.onEnd(listener.end)
      }
    } catch (error) {
      subscription.end()
      throw error
    }
  }
}

/** The filters that Toolroom does not handle itself. Undefined when there are none. */
function otherFilters({ notifications }: Params): Params | undefined {
  const others = Object.entries(isObject(notifications) ? notifications : {}).filter(
    ([name]) => !isOwnFilter(name),
  )
  return others.length > 0 ? Object.fromEntries(others) : undefined
}
