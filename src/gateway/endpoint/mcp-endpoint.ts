import { randomBytes } from 'node:crypto'
import type { AnyRequest, HttpListener, HttpRequest, HttpResponse } from '../../kernel/http/exchange.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CODES, LEGACY_VERSIONS } from '../../mcp/protocol/mcp-constants.ts'
import type { Keys } from '../keys/keys.service.ts'
import {
  type Incoming,
  isModern,
  rawParam,
  readBody,
  readIncoming,
  refuseUnknownVersion,
  requestId,
  serverIdIn,
} from '../messages/incoming-message.ts'
import {
  errorMessage,
  invalidRequest,
  keyRefusal,
  type RequestId,
  RpcError,
  resultMessage,
  sendJson,
} from '../messages/rpc-response.ts'
import type { ChangeNotifications } from '../notify/change-notifications.ts'
import type { Listen } from '../notify/listen.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import { type OnInstanceNote, RequestClient } from '../sessions/calling-clients.ts'
import type { Access, InstanceEvents, Session, Sessions } from '../sessions/sessions.ts'
import { BATCH_VERSION, BatchReply, batchIn, isAnswered, noBatches, readBatch } from './batch.ts'
import { LegacyReply } from './legacy-reply.ts'
import { capabilitiesIn, validateModern } from './modern-fields.ts'
import type { ModernReplies, ModernReply } from './modern-reply.ts'
import type { RefusedCalls } from './refused-calls.ts'
import type { RequestHandler } from './request-handler.ts'

interface Deps {
  readonly handler: RequestHandler
  readonly refused: RefusedCalls
  readonly subscriptions: Pick<Subscriptions, 'remove'>
  readonly sessions: Sessions
  readonly changeNotifications: ChangeNotifications
  readonly listen: Listen
  readonly modernReplies: ModernReplies
  readonly keys: Pick<Keys, 'find'>
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  /** Counts a wrong key. Returns how long its response has to wait. */
  readonly wrongKeyDelayMs: (address: string | undefined) => number
  /** Whether a wrong key is the management token. */
  readonly isToken: (given: string) => boolean
  /** Of servers that run for one session alone. */
  readonly instanceEvents: InstanceEvents
  /** Receives the notifications of servers that run for a modern agent alone. */
  readonly onRequestNote: OnInstanceNote
  readonly onError: (error: unknown) => void
}

/** An HTTP request with a valid key. */
interface Exchange {
  readonly request: AnyRequest
  readonly response: HttpResponse
  readonly access: Access
}

const SESSION = 'mcp-session-id'
const OPEN_BRACE = 0x7b

/** `/mcp` and `/mcp/{server_id}`. Served without the framework, because every call of an agent passes here. */
export function createMcpEndpoint(deps: Deps): HttpListener {
  const { handler, sessions, changeNotifications, modernReplies, keys } = deps
  const headerName = deps.headerName.toLowerCase()

  function givenKey({ headers }: HttpRequest): string | undefined {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[headerName]
    return typeof given === 'string' ? given : undefined
  }

  /** A request that carries a wrong key, in whatever form, counts as a guess. */
  function refuseKey({ headers, socket }: HttpRequest, given: string, response: HttpResponse): void {
    const isGuess = headers.authorization !== undefined || headers[headerName] !== undefined
    const code = !isGuess ? 'missing_key' : deps.isToken(given) ? 'management_token' : 'invalid_key'
    const delayMs = code === 'invalid_key' ? deps.wrongKeyDelayMs(socket.remoteAddress) : 0
    if (delayMs > 0) setTimeout(() => fail(response, keyRefusal(code), null), delayMs)
    else fail(response, keyRefusal(code), null)
  }

  function route(request: AnyRequest, response: HttpResponse): void {
    const given = givenKey(request) ?? ''
    const key = keys.find(given)
    if (!key) {
      refuseKey(request, given, response)
      return
    }
    const { id: keyId, agent_type: agentType } = key
    const access = { keyId, agentType, serverId: serverIdIn(request.url ?? '') }
    const exchange = { request, response, access }
    if (request.method === 'POST') {
      post(exchange)
      return
    }
    refuseNoServer(access)
    if (request.method === 'GET')
      changeNotifications.open(sessionOf(exchange), response, request.headers['last-event-id']?.toString())
    else if (request.method === 'DELETE') {
      sessions.end(sessionOf(exchange))
      response.writeHead(204).end()
    } else throw notAllowed()
  }

  function refuseNoServer(access: Access): void {
    if (!handler.hasServer(access)) throw handler.noServer(access)
  }

  function post(exchange: Exchange): void {
    const { request, response } = exchange
    if (!isJson(request.headers['content-type'] ?? ''))
      throw invalidRequest('The Content-Type must be application/json', 415)
    const onError = (error: unknown) => fail(response, error, null)
    const onBody = (body: Buffer) => {
      try {
        const batch = body[0] === OPEN_BRACE ? undefined : batchIn(body) // nearly every body is one object
        if (batch) receiveBatch(batch, exchange)
        else receive(readIncoming(body), exchange)
      } catch (error) {
        onError(error)
      }
    }
    readBody(request, onBody, onError)
  }

  function receive(message: Incoming, exchange: Exchange): void {
    try {
      refuseNoServer(exchange.access)
      if (isModern(message, exchange.request.headers)) receiveModern(message, exchange)
      else if (message.method === 'initialize' && message.id !== undefined)
        initialize(message, message.id, exchange)
      else receiveLegacy(message, exchange)
    } catch (error) {
      deps.refused(message, { ...exchange.access, requestId: nextRequestId(), session: undefined }, error)
      fail(exchange.response, error, message.id ?? null)
    }
  }

  function receiveModern(message: Incoming, { request, response, access }: Exchange): void {
    const { id, method } = message
    validateModern(message, request.headers)
    if (id === undefined || method === undefined) response.writeHead(202).end()
    else if (method === 'subscriptions/listen')
      deps.listen(message, id, response, access).catch((error: unknown) => fail(response, error, id))
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
      handle(message, access, legacyReply(id, response, session), session)
      return
    }
    accept(message, session)
    response.writeHead(202).end()
  }

  /** A response to a request of a server, or a notification. */
  function accept(message: Incoming, session: Session): void {
    const { id, method, response } = message
    if (id !== undefined) session.serverRequests.get(String(id.key))?.(response)
    else if (method === 'notifications/cancelled') session.pending.get(cancelledKey(message))?.cancel()
    else if (method !== 'notifications/initialized') handler.notify(session, message)
  }

  /** Requests of a batch run at the same time. Each message that is not valid gets its own error. */
  function receiveBatch(bodies: readonly Buffer[], exchange: Exchange): void {
    const { response, access } = exchange
    refuseNoServer(access)
    const session = batchSession(exchange)
    const messages = readBatch(bodies)
    const batch = new BatchReply(response, session, messages.filter(isAnswered).length)
    for (const message of messages) {
      const { id } = message instanceof RpcError ? { id: null } : message
      try {
        if (message instanceof RpcError) throw message
        if (id == null || message.method === undefined) accept(message, session)
        else if (message.method === 'initialize')
          throw invalidRequest('initialize must not be part of a batch')
        else handle(message, access, legacyReply(id, response, session, batch), session)
      } catch (error) {
        if (!(message instanceof RpcError))
          deps.refused(message, { ...access, requestId: nextRequestId(), session }, error)
        batch.add(errorMessage(id ?? null, asRpcError(error)))
      }
    }
    if (!messages.some(isAnswered)) response.writeHead(202).end()
  }

  function batchSession(exchange: Exchange): Session {
    const session = SESSION in exchange.request.headers ? legacySession(exchange) : undefined
    if (session?.version !== BATCH_VERSION) throw noBatches(session?.version)
    return session
  }

  function handle(
    message: Incoming,
    access: Access,
    reply: LegacyReply | ModernReply,
    session: Session | undefined,
  ): void {
    const id = nextRequestId()
    const { callTool, handleOther } = handler
    const respond = message.method === 'tools/call' ? callTool : handleOther
    respond(message, {
      serverId: access.serverId,
      era: session ? 'legacy' : 'modern',
      agentType: access.agentType,
      requestId: id,
      keyId: access.keyId,
      clientId: session?.id ?? id,
      session,
      notify: (method, params) => reply.notify(method, params),
      options: {
        signal: reply.signal,
        client:
          session?.client ??
          new RequestClient(id, access, capabilitiesIn(message.params), deps.onRequestNote),
        capabilities: session?.capabilities,
        onServerRequest: (method, params) => reply.request(method, params),
      },
    }).then(
      (result) => reply.result(result),
      (error: unknown) => reply.fail(asRpcError(error)),
    )
  }

  function initialize({ params }: Incoming, id: RequestId, { response, access }: Exchange): void {
    const version = LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? LEGACY_VERSIONS[0]
    const profile = {
      capabilities: isObject(params.capabilities) ? params.capabilities : {},
      clientInfo: isObject(params.clientInfo) ? params.clientInfo : undefined,
      protocolVersion: version,
    }
    const session = sessions.open({ ...access, version, profile }, deps.instanceEvents)
    session.onEnd.push(
      () => deps.subscriptions.remove(subscriberOf(session)),
      () => handler.release(session),
    )
    const send = (result: string) =>
      sendJson(response, 200, resultMessage(id, result), { [SESSION]: session.id })
    const result = handler.initialize(session)
    if (typeof result === 'string') send(result)
    else
      result.then(send, (error: unknown) => {
        sessions.end(session)
        fail(response, error, id)
      })
  }

  function legacySession(exchange: Exchange): Session {
    const { headers } = exchange.request
    if (headers[SESSION] === undefined)
      throw invalidRequest('Missing Mcp-Session-Id header. Send initialize first')
    return sessionOf(exchange)
  }

  function sessionOf({ request, access }: Exchange): Session {
    const id = request.headers[SESSION]
    if (typeof id !== 'string') throw notAllowed()
    const session = sessions.find(id, access)
    if (!session) throw invalidRequest('Session not found. Send initialize again', 404)
    const version = request.headers['mcp-protocol-version']
    if (version !== session.version) refuseUnknownVersion(version)
    return session
  }

  function asRpcError(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    deps.onError(error)
    return new RpcError(CODES.internal, 'Internal error', { status: 500 })
  }

  function fail(response: HttpResponse, error: unknown, id: RequestId | null): void {
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

function legacyReply(
  id: RequestId,
  response: HttpResponse,
  session: Session,
  batch?: BatchReply,
): LegacyReply {
  if (session.pending.has(id.key)) throw invalidRequest('A request with this id is still pending')
  return new LegacyReply(id, response, session, batch)
}

/** The key of the request that a notification cancels. */
function cancelledKey(message: Incoming): unknown {
  const { requestId: value } = message.params
  if (typeof value !== 'number') return value
  return requestId(String(rawParam(message, 'requestId')?.json), value).key
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
