import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/versions.ts'
import type { KeyRecord } from '../keys/keys.schema.ts'
import type { Keys } from '../keys/keys.service.ts'
import type { ChangeNotifications } from '../notify/change-notifications.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Access, Session, Sessions } from '../sessions/sessions.ts'
import { sendJson } from './json-response.ts'
import {
  errorMessage,
  type Incoming,
  invalidRequest,
  type RequestId,
  RpcError,
  rawParam,
  readBody,
  readIncoming,
  requestId,
  resultMessage,
} from './json-rpc.ts'
import { LegacyReply } from './legacy-reply.ts'
import { validateModern } from './modern-messages.ts'
import type { ModernReplies, ModernReply } from './modern-reply.ts'
import type { RequestHandler } from './request-handler.ts'

interface Deps {
  readonly handler: RequestHandler
  readonly subscriptions: Pick<Subscriptions, 'remove'>
  readonly sessions: Sessions
  readonly changeNotifications: ChangeNotifications
  readonly modernReplies: ModernReplies
  readonly keys: Pick<Keys, 'find'>
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  /** Counts a wrong key. Returns how long its response has to wait. */
  readonly wrongKeyDelayMs: (address: string | undefined) => number
  readonly onError: (error: unknown) => void
}

/** An HTTP request with a valid key. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly access: Access
}

const SESSION = 'mcp-session-id'
const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

export const isMcpPath = (url: string): boolean => url.startsWith('/mcp') && PATH.test(url)

/** `/mcp` and `/mcp/{server_id}`. Served without the framework, because every call of an agent passes here. */
export function createMcpEndpoint(deps: Deps): RequestListener {
  const { handler, sessions, changeNotifications, modernReplies, keys } = deps
  const headerName = deps.headerName.toLowerCase()

  function keyOf({ headers }: IncomingMessage): KeyRecord | undefined {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[headerName]
    return typeof given === 'string' ? keys.find(given) : undefined
  }

  /** A request that carries a wrong key, in whatever form, counts as a guess. */
  function refuseKey({ headers, socket }: IncomingMessage, response: ServerResponse): void {
    const message = 'The gateway needs a gateway key. Send it as Authorization: Bearer <key>'
    const error = new RpcError(CODES.noKey, message, { status: 401 })
    const isGuess = headers.authorization !== undefined || headers[headerName] !== undefined
    const delayMs = isGuess ? deps.wrongKeyDelayMs(socket.remoteAddress) : 0
    if (delayMs > 0) setTimeout(() => fail(response, error, null), delayMs)
    else fail(response, error, null)
  }

  function route(request: IncomingMessage, response: ServerResponse): void {
    const key = keyOf(request)
    if (!key) {
      refuseKey(request, response)
      return
    }
    const { id: keyId, agent_type: agentType } = key
    const access = { keyId, agentType, serverId: serverIdIn(request.url ?? '') }
    const exchange = { request, response, access }
    if (!handler.hasServer(access)) throw invalidRequest('Server not found', 404)
    if (request.method === 'POST') post(exchange)
    else if (request.method === 'GET')
      changeNotifications.open(sessionOf(exchange), response, request.headers['last-event-id']?.toString())
    else if (request.method === 'DELETE') {
      sessions.end(sessionOf(exchange))
      response.writeHead(204).end()
    } else throw notAllowed()
  }

  function post(exchange: Exchange): void {
    const { request, response } = exchange
    if (!isJson(request.headers['content-type'] ?? ''))
      throw invalidRequest('The Content-Type must be application/json', 415)
    const onError = (error: unknown) => fail(response, error, null)
    const onBody = (body: Buffer) => {
      try {
        receive(readIncoming(body), exchange)
      } catch (error) {
        onError(error)
      }
    }
    readBody(request, onBody, onError)
  }

  function receive(message: Incoming, exchange: Exchange): void {
    try {
      if (isModern(message, exchange.request.headers)) receiveModern(message, exchange)
      else if (message.method === 'initialize' && message.id !== undefined)
        initialize(message, message.id, exchange)
      else receiveLegacy(message, exchange)
    } catch (error) {
      fail(exchange.response, error, message.id ?? null)
    }
  }

  function receiveModern(message: Incoming, { request, response, access }: Exchange): void {
    const { id, method } = message
    validateModern(message, request.headers)
    if (id === undefined || method === undefined) response.writeHead(202).end()
    else if (method === 'subscriptions/listen') changeNotifications.subscribe(message, id, response, access)
    else {
      const reply = modernReplies.open(message, id, response, access)
      if (reply) handle(message, access, reply, undefined)
    }
  }

  function receiveLegacy(message: Incoming, exchange: Exchange): void {
    const { id, method } = message
    const { response, access } = exchange
    const session = legacySession(exchange)
    if (id !== undefined && method !== undefined) {
      if (session.pending.has(id.key)) throw invalidRequest('A request with this id is still pending')
      handle(message, access, new LegacyReply(id, response, session), session)
      return
    }
    if (id !== undefined) session.serverRequests.get(String(id.key))?.(message.response)
    else if (method === 'notifications/cancelled') session.pending.get(cancelledKey(message))?.cancel()
    response.writeHead(202).end()
  }

  function handle(
    message: Incoming,
    access: Access,
    reply: LegacyReply | ModernReply,
    session: Session | undefined,
  ): void {
    handler
      .handle(message, {
        serverId: access.serverId,
        era: session ? 'legacy' : 'modern',
        agentType: access.agentType,
        requestId: nextRequestId(),
        session,
        notify: (method, params) => reply.notify(method, params),
        options: {
          signal: reply.signal,
          capabilities: session?.capabilities,
          onServerRequest: (method, params) => reply.request(method, params),
        },
      })
      .then(
        (result) => reply.result(result),
        (error: unknown) => reply.fail(asRpcError(error)),
      )
  }

  function initialize(message: Incoming, id: RequestId, { response, access }: Exchange): void {
    const { version, result } = handler.initialize(message, access)
    const { capabilities: declared } = message.params
    const session = sessions.open({ ...access, version, capabilities: isObject(declared) ? declared : {} })
    session.onEnd.push(() => deps.subscriptions.remove(subscriberOf(session)))
    sendJson(response, 200, resultMessage(id, result), { [SESSION]: session.id })
  }

  function legacySession(exchange: Exchange): Session {
    const { headers } = exchange.request
    if (headers[SESSION] === undefined)
      throw invalidRequest('Missing Mcp-Session-Id header. Send initialize first')
    const session = sessionOf(exchange)
    const version = headers['mcp-protocol-version']
    if (version !== undefined && version !== session.version)
      throw invalidRequest(`This session uses protocol version ${session.version}`)
    return session
  }

  function sessionOf({ request, access }: Exchange): Session {
    const id = request.headers[SESSION]
    if (typeof id !== 'string') throw notAllowed()
    const session = sessions.find(id, access)
    if (!session) throw invalidRequest('Session not found. Send initialize again', 404)
    return session
  }

  function asRpcError(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    deps.onError(error)
    return new RpcError(CODES.internal, 'Internal error', { status: 500 })
  }

  function fail(response: ServerResponse, error: unknown, id: RequestId | null): void {
    const failure = asRpcError(error)
    if (response.headersSent) response.destroy()
    else
      sendJson(response, failure.status, errorMessage(failure.id ?? id, failure), HEADERS_OF[failure.status])
  }

  return (request, response) => {
    try {
      route(request, response)
    } catch (error) {
      fail(response, error, null)
    }
  }
}

/** The key of the request that a notification cancels. */
function cancelledKey(message: Incoming): unknown {
  const { requestId: value } = message.params
  if (typeof value !== 'number') return value
  return requestId(String(rawParam(message, 'requestId')?.json), value).key
}

/** Detected from `_meta`, else from the header. */
function isModern({ params }: Incoming, headers: IncomingHttpHeaders): boolean {
  if (params._meta !== undefined && metaOf(params)[META.protocolVersion] !== undefined) return true
  const header = headers['mcp-protocol-version']
  return (
    typeof header === 'string' &&
    !LEGACY_VERSIONS.some((known) => known === header) &&
    header >= MODERN_VERSION
  )
}

const HEADERS_OF: Readonly<Record<number, Record<string, string>>> = {
  401: { 'www-authenticate': 'Bearer realm="toolroom"' },
  405: { allow: 'POST' },
}

/** Unique across restarts. */
const nextRequestId = (): string => {
  requests += 1
  return `${RUN}${requests.toString(36)}`
}
const RUN = `req_${randomBytes(6).toString('base64url')}`
let requests = 0

const notAllowed = (): RpcError =>
  invalidRequest('Method not allowed. GET and DELETE require an Mcp-Session-Id header', 405)

const isJson = (type: string): boolean => type === 'application/json' || /^application\/json\b/i.test(type)

function serverIdIn(url: string): string | undefined {
  if (url === '/mcp') return undefined
  const segment = PATH.exec(url)?.[1]
  if (segment === undefined) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment // it cannot be the id of a server
  }
}
