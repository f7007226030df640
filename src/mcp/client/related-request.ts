import type { CallOptions } from '../protocol/call.ts'
import { metaOf } from '../protocol/json-rpc-message.ts'
import { META } from '../protocol/meta.ts'

interface ClientRequest {
  readonly options: CallOptions
  /** False for a request of Toolroom itself, such as a list. */
  readonly isForwarded: boolean
}

/** The pending request that a message of the server belongs to. */
export type Related<P> = P | 'none' | 'several'

/**
 * The request that a message without a reference belongs to: a stdio server does not say for which request it asks or logs.
 * It is known only while all pending requests come from the same session; then it is the newest one.
 */
export function relatedRequest<P extends ClientRequest>(pending: readonly P[]): Related<P> {
  let related: P | undefined
  for (const request of pending) {
    if (!request.isForwarded) continue
    const { client } = request.options
    if (related && (client === undefined || related.options.client?.id !== client.id)) return 'several'
    related = request
  }
  return related ?? 'none'
}

/** The client that a message concerns. Undefined: all clients. Null: one, but it is unknown which. */
export function clientIdOf(related: Related<ClientRequest>): string | null | undefined {
  if (related === 'none') return undefined
  return related === 'several' ? null : (related.options.client?.id ?? null)
}

/** The id of the `subscriptions/listen` request that a notification belongs to. NaN when it belongs to none. */
export const subscriptionIdIn = (params: unknown): number => Number(metaOf(params)[META.subscriptionId])
