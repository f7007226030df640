import type { CallResult } from '../../protocol/call.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { asRpcError, type Incoming } from './json-rpc.ts'
import { modernParamsOf, withoutModernMeta } from './modern-messages.ts'
import { progressTo, type RequestContext } from './request-context.ts'

/** Forwards a request to one server. Rejects with the error that the agent gets. */
export type Forward = (message: Incoming, serverId: string, context: RequestContext) => Promise<CallResult>

export function createForward(upstreams: Upstreams, { logsDuring }: Subscriptions): Forward {
  return async ({ method = '', params }, serverId, context) => {
    const options = {
      onProgress: progressTo(context, metaOf(params).progressToken),
      modernParams: context.era === 'modern' ? modernParamsOf(params, context) : undefined,
      ...context.options,
    }
    const stopLogs = await logsDuring(serverId, params, context)
    try {
      const request = { method, params: withoutModernMeta(params), options, waits: true as const }
      return await upstreams.relay(serverId, request)
    } catch (error) {
      throw asRpcError(error, context.era)
    } finally {
      stopLogs?.()
    }
  }
}
