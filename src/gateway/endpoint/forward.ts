import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/is-object.ts'
import { CallFailure, type CallResult } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import type { Era } from '../../protocol/versions.ts'
import type { Upstreams } from '../../upstreams/upstreams.ts'
import { type Incoming, RpcError } from './json-rpc.ts'
import { withoutEra } from './modern-requests.ts'
import { progressTo, type RequestContext } from './request-context.ts'

/** Forwards a request to one server. Rejects with the error that the agent gets. */
export type Forward = (message: Incoming, serverId: string, context: RequestContext) => Promise<CallResult>

export function createForward(upstreams: Upstreams): Forward {
  return async ({ method = '', params }, serverId, context) => {
    const options = {
      ...context.options,
      onProgress: progressTo(context, metaOf(params).progressToken),
      modernParams: context.era === 'modern' ? params : undefined,
    }
    try {
      return await upstreams.relay(serverId, { method, params: withoutEra(params), options, waits: true })
    } catch (error) {
      throw asRpcError(error, context.era)
    }
  }
}

/** A server's error is passed on unchanged. Our own errors carry our code in `data`. */
export function asRpcError(error: unknown, era: Era): RpcError {
  const remote = remoteOf(error) ?? remoteOf((error as Error | undefined)?.cause)
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), {
      data: remote.data,
      status: (era === 'modern' && STATUS[remote.code]) || 200,
    })
  if (!(error instanceof AppError)) {
    const message = error instanceof CallFailure ? error.message : 'The server did not answer'
    return new RpcError(CODES.internal, message)
  }
  const data = { code: error.code, ...(error.hint !== undefined && { hint: error.hint }) }
  return new RpcError(CODES.internal, error.message, { data })
}

const remoteOf = (error: unknown): unknown => (error as { remote?: unknown } | undefined)?.remote

/** The HTTP status of errors in the modern era. */
const STATUS: Readonly<Record<number, number>> = {
  [CODES.method]: 404,
  [CODES.headers]: 400,
  [CODES.missingCapability]: 400,
  [CODES.version]: 400,
}
