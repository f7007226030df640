import type { CallingClient, CallOptions, ClientDependency } from '../protocol/call-options.ts'
import { metaOf } from '../protocol/json-rpc-message.ts'
import { CODES, META, SHOWS_PAGES } from '../protocol/mcp-constants.ts'

/**
 * The client capabilities that we declare to a server that several clients share. When the client that is asked lacks one,
 * the server's request is refused. Many servers offer tools with pages only to a client that shows pages; other clients use
 * the text of their results.
 */
export const CLIENT_CAPABILITIES = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
  extensions: SHOWS_PAGES,
}

const FORWARDED: Readonly<Record<string, ClientDependency>> = {
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
}

/** The capability that a request of a server needs of the client. Undefined when it is not forwarded to the client. */
export const neededCapability = (method: string): ClientDependency | undefined =>
  Object.hasOwn(FORWARDED, method) ? FORWARDED[method] : undefined

export const SEVERAL_CLIENTS =
  'Several clients are using this server, so it is unknown which of them to ask. Call the tool again: from now on the server runs for each client alone, unless its sharing is set to something else'
export const NO_CLIENT = 'No client is waiting for this server, so there is none to ask'

/** The response to a request that Toolroom answers itself. */
export const ownResult = (method: string): Promise<unknown> =>
  method === 'ping' ? Promise.resolve({}) : refused(CODES.method, `${method.slice(0, 100)} is not supported`)

/** The rejection that becomes an error response. */
export const refused = (code: number, message: string): Promise<never> => Promise.reject({ code, message })

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
export function relatedRequest<P extends ClientRequest>(pending: Iterable<P>): Related<P> {
  let related: P | undefined
  for (const request of pending) {
    if (!request.isForwarded) continue
    const { client } = request.options
    if (related && (client === undefined || related.options.client?.id !== client.id)) return 'several'
    related = request
  }
  return related ?? 'none'
}

/** The clients of the pending requests, any of which a message may concern. */
export const clientsOf = (pending: Iterable<ClientRequest>): CallingClient[] =>
  [...pending].flatMap(({ isForwarded, options }) => (isForwarded && options.client ? [options.client] : []))

/** The client that a message concerns. Undefined: all clients. Null: one, but it is unknown which. */
export function clientIdOf(related: Related<ClientRequest>): string | null | undefined {
  if (related === 'none') return undefined
  return related === 'several' ? null : (related.options.client?.id ?? null)
}

/** The id of the `subscriptions/listen` request that a notification belongs to. NaN when it belongs to none. */
export const subscriptionIdIn = (params: unknown): number => Number(metaOf(params)[META.subscriptionId])
