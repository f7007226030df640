import { SHOWS_PAGES } from '../protocol/apps.ts'
import type { ClientDependency } from '../protocol/call.ts'
import { CODES } from '../protocol/codes.ts'

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
  'Several clients are using this server, so it is unknown which of them to ask. Set its sharing to per_session'
export const NO_CLIENT = 'No client is waiting for this server, so there is none to ask'

/** The response to a request that Toolroom answers itself. */
export const ownResult = (method: string): Promise<unknown> =>
  method === 'ping' ? Promise.resolve({}) : refused(CODES.method, `${method.slice(0, 100)} is not supported`)

/** The rejection that becomes an error response. */
export const refused = (code: number, message: string): Promise<never> => Promise.reject({ code, message })
