import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/versions.ts'
import type { KeyRecord } from '../keys/keys.schema.ts'
import type { Keys } from '../keys/keys.service.ts'
import type { ChangeStreams } from '../notify/change-streams.ts'
import { subscriberOf } from '../notify/session-subscriber.ts'
import type { Subscriptions } from '../notify/subscriptions.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import { sendJson } from './json-response.ts'
import { errorMessage, type Incoming, RpcError, readBody, readIncoming, resultMessage } from './json-rpc.ts'
import { LegacyReply } from './legacy-reply.ts'
import type { ModernReplies } from './modern-replies.ts'
import type { ModernReply } from './modern-reply.ts'
import { validateModern } from './modern-requests.ts'
import type { RequestHandler } from './request-handler.ts'

interface Deps {
  readonly handler: RequestHandler
  readonly subscriptions: Pick<Subscriptions, 'remove'>
  readonly sessions: Sessions
  readonly changeStreams: ChangeStreams
  readonly modernReplies: ModernReplies
  readonly keys: Pick<Keys, 'owner'>
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  readonly onError: (error: unknown) => void
}

type Place = Pick<Session, 'keyId' | 'agentType' | 'serverId'>

const SESSION = 'mcp-session-id'
const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

export const isMcpPath = (url: string): boolean => url.startsWith('/mcp') && PATH.test(url)

/** `/mcp` and `/mcp/{server_id}`. Served without the framework, because every call of an agent passes here. */
export function createMcpEndpoint(deps: Deps): RequestListener {
  const { handler, sessions, changeStreams, modernReplies, keys } = deps
  const headerName = deps.headerName.toLowerCase()

  function ownerOf({ headers }: IncomingMessage): KeyRecord {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[headerName]
    const owner = typeof given === 'string' ? keys.owner(given) : undefined
    if (owner) return owner
    const message = 'The gateway needs a gateway key. Send it as Authorization: Bearer <key>'
    throw new RpcError(CODES.noKey, message, { status: 401 })
  }

  function route(request: IncomingMessage, response: ServerResponse): void {
    const owner = ownerOf(request)
    const place = { keyId: owner.id, agentType: owner.agent_type, serverId: serverIdIn(request.url ?? '') }
    if (!handler.hasServer(place)) throw new RpcError(CODES.request, 'Server not found', { status: 404 })
    if (request.method === 'POST') post(request, response, place)
    else if (request.method === 'GET') {
      changeStreams.open(sessionNamed(request, place), response, lastEventId(request))
    } else if (request.method === 'DELETE') {
      sessions.end(sessionNamed(request, place))
      response.writeHead(204).end()
    } else throw notAllowed()
  }

  function post(request: IncomingMessage, response: ServerResponse, place: Place): void {
    if (!isJson(request.headers['content-type'] ?? ''))
      throw new RpcError(CODES.request, 'The Content-Type must be application/json', { status: 415 })
    const onError = (error: unknown) => fail(response, error, null)
    const onBody = (body: Buffer) => {
      try {
        receive(readIncoming(body), request, response, place)
      } catch (error) {
        onError(error)
      }
    }
    readBody(request, onBody, onError)
  }

  function receive(
    message: Incoming,
    request: IncomingMessage,
    response: ServerResponse,
    place: Place,
  ): void {
    try {
      if (isModern(message, request.headers)) receiveModern(message, request, response, place)
      else if (message.method === 'initialize' && message.id !== undefined)
        initialize(message, message.id, response, place)
      else receiveLegacy(message, legacySession(request, place), response, place)
    } catch (error) {
      fail(response, error, message.id ?? null)
    }
  }

  function receiveModern(
    message: Incoming,
    request: IncomingMessage,
    response: ServerResponse,
    place: Place,
  ): void {
    const { id, method } = message
    validateModern(message, request.headers)
    if (id === undefined || method === undefined) response.writeHead(202).end()
    else if (method === 'subscriptions/listen') changeStreams.subscribe(message, id, response, place)
    else {
      const reply = modernReplies.open(message, id, response, place)
      if (reply) handle(message, place, reply, undefined)
    }
  }

  function receiveLegacy(message: Incoming, session: Session, response: ServerResponse, place: Place): void {
    const { id, method, params } = message
    if (id !== undefined && method !== undefined) {
      if (session.open.has(id))
        throw new RpcError(CODES.request, 'A request with this id is still pending', { status: 400 })
      handle(message, place, new LegacyReply(id, response, session), session)
      return
    }
    if (id !== undefined) session.serverRequests.get(String(id))?.(message.response)
    else if (method === 'notifications/cancelled') cancel(session, params.requestId)
    response.writeHead(202).end()
  }

  function handle(
    message: Incoming,
    place: Place,
    reply: LegacyReply | ModernReply,
    session: Session | undefined,
  ): void {
    handler
      .handle(message, {
        serverId: place.serverId,
        era: session ? 'legacy' : 'modern',
        agentType: place.agentType,
        requestId: requestId(),
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

  function initialize(message: Incoming, id: string | number, response: ServerResponse, place: Place): void {
    const { version, result } = handler.initialize(message, place)
    const { capabilities } = message.params
    const session = sessions.open({
      ...place,
      version,
      capabilities: isObject(capabilities) ? capabilities : {},
    })
    session.onEnd.push(() => deps.subscriptions.remove(subscriberOf(session)))
    sendJson(response, 200, resultMessage(id, result), { [SESSION]: session.id })
  }

  function legacySession(request: IncomingMessage, place: Place): Session {
    if (request.headers[SESSION] === undefined)
      throw new RpcError(CODES.request, 'Missing Mcp-Session-Id header. Send initialize first', {
        status: 400,
      })
    const session = sessionNamed(request, place)
    const version = request.headers['mcp-protocol-version']
    if (version !== undefined && version !== session.version)
      throw new RpcError(CODES.request, `This session uses protocol version ${session.version}`, {
        status: 400,
      })
    return session
  }

  function sessionNamed({ headers }: IncomingMessage, place: Place): Session {
    const id = headers[SESSION]
    if (typeof id !== 'string') throw notAllowed()
    const session = sessions.find(id, place)
    if (session) return session
    throw new RpcError(CODES.request, 'Session not found. Send initialize again', { status: 404 })
  }

  function asRpcError(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    deps.onError(error)
    return new RpcError(CODES.internal, 'Internal error', { status: 500 })
  }

  function fail(response: ServerResponse, error: unknown, id: string | number | null): void {
    const failure = asRpcError(error)
    if (response.headersSent) response.destroy()
    else sendJson(response, failure.status, errorMessage(id, failure), HEADERS_OF[failure.status])
  }

  return (request, response) => {
    try {
      route(request, response)
    } catch (error) {
      fail(response, error, null)
    }
  }
}

/** Detected from `_meta`, else from the header. */
function isModern({ params }: Incoming, headers: IncomingHttpHeaders): boolean {
  if (metaOf(params)[META.protocolVersion] !== undefined) return true
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
const requestId = (): string => {
  requests += 1
  return `${RUN}${requests.toString(36)}`
}
const RUN = `req_${randomBytes(6).toString('base64url')}`
let requests = 0

const notAllowed = (): RpcError => new RpcError(CODES.request, 'This endpoint requires POST', { status: 405 })

const isJson = (type: string): boolean => type === 'application/json' || /^application\/json\b/i.test(type)

function lastEventId({ headers }: IncomingMessage): string | undefined {
  const given = headers['last-event-id']
  return typeof given === 'string' ? given : undefined
}

function cancel(session: Session, id: unknown): void {
  if (typeof id === 'string' || typeof id === 'number') session.open.get(id)?.cancel()
}

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
