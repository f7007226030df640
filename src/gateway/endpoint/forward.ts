import type { CallOptions, CallResult, Params } from '../../protocol/call.ts'
import { metaOf } from '../../protocol/meta.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import type { Subscriptions } from '../notify/subscriptions.ts'
import { asRpcError, type Incoming } from './json-rpc.ts'
import { withoutModernMeta } from './modern-requests.ts'
import type { RequestContext } from './request-context.ts'

/** Forwards a request to one server. Rejects with the error that the agent gets. */
export type Forward = (message: Incoming, serverId: string, context: RequestContext) => Promise<CallResult>

export function createForward(upstreams: Upstreams, { logsDuring }: Subscriptions): Forward {
  return async ({ method = '', params }, serverId, context) => {
    const modernParams = context.era === 'modern' ? params : undefined
    const options = optionsOf(context, metaOf(params).progressToken, modernParams)
    const stopLogs = await logsDuring(serverId, params, context)
    try {
      return await upstreams.relay(serverId, {
        method,
        params: withoutModernMeta(params),
        options,
        waits: true,
      })
    } catch (error) {
      throw asRpcError(error, context.era)
    } finally {
      stopLogs?.()
    }
  }
}

/** The options of a request that an agent sent. */
export function optionsOf(
  { signal, onServerRequest, session, notify }: RequestContext,
  progressToken: unknown,
  modernParams: Params | undefined,
): CallOptions {
  // The agent gets its own progress token back, which may be 0.
  const onProgress = (progress: object) => notify('notifications/progress', { ...progress, progressToken })
  return {
    signal,
    onServerRequest,
    capabilities: session?.capabilities,
    onProgress: progressToken === undefined ? undefined : onProgress,
    modernParams,
  }
}
