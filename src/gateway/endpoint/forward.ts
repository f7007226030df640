import type { CallResult, Params } from '../../mcp/protocol/call.ts'
import type { RawJson } from '../../mcp/protocol/raw-json.ts'
import type { Upstreams } from '../../servers/shared/upstreams.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { asRpcError } from './json-rpc.ts'
import { modernParamsOf, withoutModernMeta } from './modern-messages.ts'
import { progressTo, progressTokenIn, type RequestContext } from './request-context.ts'

/** Forwards a request to one server. Rejects with the error that the agent gets. */
export type Forward = (
  method: string,
  params: RawJson,
  serverId: string,
  context: RequestContext,
) => Promise<CallResult>

export function createForward(upstreams: Upstreams, { logsDuring }: Subscriptions): Forward {
  return async (method, params, serverId, context) => {
    const value = params.value as Params
    const isModern = context.era === 'modern'
    const options = {
      onProgress: progressTo(context, progressTokenIn(params)),
      modernParams: isModern
        ? { requestState: value.requestState, raw: () => modernParamsOf(params, context) }
        : undefined,
      ...context.options,
    }
    const stopLogs = await logsDuring(serverId, value, context)
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
