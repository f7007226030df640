import type { AnyRequest, HttpListener, HttpRequest, HttpResponse } from '../../kernel/http/http-types.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CODES, LEGACY_VERSIONS } from '../../mcp/protocol/mcp-constants.ts'
import type { Keys } from '../keys/keys.service.ts'
import {
  cancelledKey,
  type Incoming,
  isJson,
  isModern,
  nextRequestId,
  readBody,
  readIncoming,
  refuseUnknownVersion,
  serverIdIn,
} from '../messages/incoming-message.ts'
import { invalidRequest, keyRefusal, type RequestId, RpcError } from '../messages/rpc-error.ts'
import { errorMessage, resultMessage, sendJson } from '../messages/rpc-response.ts'
import type { ChangeNotifications } from '../notify/change-notifications.ts'
import type { Subscriptions } from '../notify/log-and-resource-subscriptions.ts'
import type { RequestContext } from '../notify/request-context.ts'
import { subscriberOf } from '../notify/subscriber.ts'
import type { Listen } from '../notify/subscriptions-listen.ts'
import { type OnInstanceNote, RequestClient } from '../sessions/modern-request-client.ts'
import {
  type Access,
  ENTRY_BYTES,
  type InstanceEvents,
  type KeptBytes,
  type Session,
  type Sessions,
} from '../sessions/sessions.ts'
import { BATCH_VERSION, BatchReply, batchIn, isAnswered, noBatches, readBatch } from './json-rpc-batch.ts'
import { LegacyReply } from './legacy-reply.ts'
import { capabilitiesIn, validateModern } from './modern-fields.ts'
import type { ModernReplies, ModernReply } from './modern-reply.ts'
import type { RefusedCalls } from './refused-calls.ts'
import type { RequestHandler } from './request-handler.ts'

interface Deps {
  readonly handler: RequestHandler
  readonly refused: RefusedCalls
  readonly kept: KeptBytes
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
export class McpEndpoint {
  readonly #deps: Deps
  readonly #headerName: string

  constructor(deps: Deps) {
    this.#deps = deps
    this.#headerName = deps.headerName.toLowerCase()
  }

  readonly listener: HttpListener = (request, response) => {
    try {
      this.#route(request, response)
    } catch (error) {
      this.#fail(response, error, null)
    }
  }

  readonly opens = (request: HttpRequest): boolean =>
    this.#deps.keys.find(this.#givenKey(request) ?? '') !== undefined

  #givenKey({ headers }: HttpRequest): string | undefined {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[this.#headerName]
    return typeof given === 'string' ? given : undefined
  }

  /** A request that carries a wrong key, in whatever form, counts as a guess. */
  #refuseKey({ headers, socket }: HttpRequest, given: string, response: HttpResponse): void {
    const isGuess = headers.authorization !== undefined || headers[this.#headerName] !== undefined
    const code = !isGuess ? 'missing_key' : this.#deps.isToken(given) ? 'management_token' : 'invalid_key'
    const delayMs = code === 'invalid_key' ? this.#deps.wrongKeyDelayMs(socket.remoteAddress) : 0
    if (delayMs > 0) setTimeout(() => this.#fail(response, keyRefusal(code), null), delayMs)
    else this.#fail(response, keyRefusal(code), null)
  }

  #route(request: AnyRequest, response: HttpResponse): void {
    const given = this.#givenKey(request) ?? ''
    const key = this.#deps.keys.find(given)
    if (!key) {
      this.#refuseKey(request, given, response)
      return
    }
    const { id: keyId, agent_type: agentType } = key
    const access = { keyId, agentType, serverId: serverIdIn(request.url ?? '') }
    const exchange = { request, response, access }
    if (request.method === 'POST') {
      this.#post(exchange)
      return
    }
    this.#refuseNoServer(access)
    if (request.method === 'GET')
      this.#deps.changeNotifications.open(
        this.#sessionOf(exchange),
        response,
        request.headers['last-event-id']?.toString(),
      )
    else if (request.method === 'DELETE') {
      this.#deps.sessions.end(this.#sessionOf(exchange))
      response.writeHead(204).end()
    } else throw notAllowed()
  }

  #refuseNoServer(access: Access): void {
    if (!this.#deps.handler.tools.hasServer(access)) throw this.#deps.handler.tools.noServer(access)
  }

  #post(exchange: Exchange): void {
    const { request, response } = exchange
    if (!isJson(request.headers['content-type'] ?? ''))
      throw invalidRequest('The Content-Type must be application/json', 415)
    const onError = (error: unknown) => this.#fail(response, error, null)
    const onBody = (body: Buffer) => {
      try {
        const batch = body[0] === OPEN_BRACE ? undefined : batchIn(body) // nearly every body is one object
        if (batch) this.#receiveBatch(batch, exchange)
        else this.#receive(readIncoming(body), exchange)
      } catch (error) {
        onError(error)
      }
    }
    readBody(request, onBody, onError, this.#deps.kept, exchange.access.keyId)
  }

  #receive(message: Incoming, exchange: Exchange): void {
    try {
      this.#refuseNoServer(exchange.access)
      if (isModern(message, exchange.request.headers)) this.#receiveModern(message, exchange)
      else if (message.method === 'initialize' && message.id !== undefined)
        this.#initialize(message, message.id, exchange)
      else this.#receiveLegacy(message, exchange)
    } catch (error) {
      const context = { ...exchange.access, requestId: nextRequestId(), session: undefined }
      this.#deps.refused(message, context, error)
      this.#fail(exchange.response, error, message.id ?? null)
    }
  }

  #receiveModern(message: Incoming, { request, response, access }: Exchange): void {
    const { id, method } = message
    validateModern(message, request.headers)
    if (id === undefined || method === undefined) response.writeHead(202).end()
    else if (method === 'subscriptions/listen')
      this.#deps
        .listen(message, id, response, access)
        .catch((error: unknown) => this.#fail(response, error, id))
    else {
      const reply = this.#deps.modernReplies.open(message, id, response, access)
      if (reply) this.#handle(message, access, reply, undefined)
    }
  }

  #receiveLegacy(message: Incoming, exchange: Exchange): void {
    const { id, method } = message
    const { response, access } = exchange
    const session = this.#legacySession(exchange)
    if (id !== undefined && method !== undefined) {
      this.#handle(message, access, this.#legacyReply(message, id, response, session), session)
      return
    }
    this.#accept(message, session)
    response.writeHead(202).end()
  }

  /** A response to a request of a server, or a notification. */
  #accept(message: Incoming, session: Session): void {
    const { id, method, response } = message
    if (id !== undefined) session.serverRequests.get(String(id.key))?.(response)
    else if (method === 'notifications/cancelled') session.pending.get(cancelledKey(message))?.cancel()
    else if (method !== 'notifications/initialized') this.#deps.handler.notify(session, message)
  }

  /** Requests of a batch run at the same time. Each message that is not valid gets its own error. */
  #receiveBatch(bodies: readonly Buffer[], exchange: Exchange): void {
    const { response, access } = exchange
    this.#refuseNoServer(access)
    const session = this.#batchSession(exchange)
    const messages = readBatch(bodies)
    const batch = new BatchReply(response, session, messages.filter(isAnswered).length)
    for (const message of messages) {
      const { id } = message instanceof RpcError ? { id: null } : message
      try {
        if (message instanceof RpcError) throw message
        if (id == null || message.method === undefined) this.#accept(message, session)
        else if (message.method === 'initialize')
          throw invalidRequest('initialize must not be part of a batch')
        else this.#handle(message, access, this.#legacyReply(message, id, response, session, batch), session)
      } catch (error) {
        if (!(message instanceof RpcError))
          this.#deps.refused(message, { ...access, requestId: nextRequestId(), session }, error)
        batch.add(errorMessage(id ?? null, this.#rpcErrorFor(error)))
      }
    }
    if (!messages.some(isAnswered)) response.writeHead(202).end()
  }

  #batchSession(exchange: Exchange): Session {
    const session = SESSION in exchange.request.headers ? this.#legacySession(exchange) : undefined
    if (session?.version !== BATCH_VERSION) throw noBatches(session?.version)
    return session
  }

  #handle(
    message: Incoming,
    access: Access,
    reply: LegacyReply | ModernReply,
    session: Session | undefined,
  ): void {
    const id = nextRequestId()
    const { handler } = this.#deps
    const context: RequestContext = {
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
          new RequestClient(id, access, capabilitiesIn(message.params), this.#deps.onRequestNote),
        capabilities: session?.capabilities,
        onServerRequest: (method, params) => reply.request(method, params),
      },
    }
    const responded =
      message.method === 'tools/call'
        ? handler.tools.callTool(message, context)
        : handler.handleOther(message, context)
    responded.then(
      (result) => reply.result(result),
      (error: unknown) => reply.fail(this.#rpcErrorFor(error)),
    )
  }

  #initialize({ params, body }: Incoming, id: RequestId, { response, access }: Exchange): void {
    const version = LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? LEGACY_VERSIONS[0]
    const profile = {
      capabilities: isObject(params.capabilities) ? params.capabilities : {},
      clientInfo: isObject(params.clientInfo) ? params.clientInfo : undefined,
      protocolVersion: version,
    }
    const session = this.#deps.sessions.open(
      { ...access, version, profile },
      body.length,
      this.#deps.instanceEvents,
    )
    session.onEnd.push(
      () => this.#deps.subscriptions.remove(subscriberOf(session)),
      () => this.#deps.handler.release(session),
    )
    const send = (result: string) =>
      sendJson(response, 200, resultMessage(id, result), { [SESSION]: session.id })
    const result = this.#deps.handler.initialize(session)
    if (typeof result === 'string') send(result)
    else
      result.then(send, (error: unknown) => {
        this.#deps.sessions.end(session)
        this.#fail(response, error, id)
      })
  }

  #legacySession(exchange: Exchange): Session {
    const { headers } = exchange.request
    if (headers[SESSION] === undefined)
      throw invalidRequest('Missing Mcp-Session-Id header. Send initialize first')
    return this.#sessionOf(exchange)
  }

  #sessionOf({ request, access }: Exchange): Session {
    const id = request.headers[SESSION]
    if (typeof id !== 'string') throw notAllowed()
    const session = this.#deps.sessions.find(id, access)
    if (!session) throw invalidRequest('Session not found. Send initialize again', 404)
    const version = request.headers['mcp-protocol-version']
    if (version !== session.version) refuseUnknownVersion(version)
    return session
  }

  #legacyReply(
    { body }: Incoming,
    id: RequestId,
    response: HttpResponse,
    session: Session,
    batch?: BatchReply,
  ): LegacyReply {
    if (session.pending.has(id.key)) throw invalidRequest('A request with this id is still pending')
    const bytes = ENTRY_BYTES + body.length
    const { kept } = this.#deps
    kept.take(session.keyId, bytes)
    return new LegacyReply(id, response, session, () => kept.free(session.keyId, bytes), batch)
  }

  #rpcErrorFor(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    this.#deps.onError(error)
    return new RpcError(CODES.internal, 'Internal error', { status: 500 })
  }

  #fail(response: HttpResponse, error: unknown, id: RequestId | null): void {
    const failure = this.#rpcErrorFor(error)
    if (response.headersSent) response.destroy()
    else
      sendJson(response, failure.status, errorMessage(failure.id ?? id, failure), HEADERS_OF[failure.status])
  }
}

const HEADERS_OF: Readonly<Record<number, Record<string, string>>> = {
  401: { 'www-authenticate': 'Bearer realm="toolroom"' },
  405: { allow: 'POST' },
}

const notAllowed = (): RpcError =>
  invalidRequest('Method not allowed. GET and DELETE require an Mcp-Session-Id header', 405)
