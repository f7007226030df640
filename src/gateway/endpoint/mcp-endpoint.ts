import { randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FactBus } from '../../kernel/facts.ts'
import { isObject } from '../../kernel/is-object.ts'
import type { Log } from '../../kernel/log.ts'
import type { KeyRecord } from '../keys/keys.schema.ts'
import type { Keys } from '../keys/keys.service.ts'
import { Listeners, TOOLS_CHANGED } from '../notify/change-streams.ts'
import { beginHearing } from '../notify/notification-fanout.ts'
import { NoteCap } from '../notify/notification-rate-limit.ts'
import { hearerOf } from '../notify/session-subscriber.ts'
import { type Session, Sessions } from '../sessions/sessions.ts'
import { sendJson } from './json-response.ts'
import { CODES, errorMessage, type Incoming, RpcError, readIncoming, resultMessage } from './json-rpc.ts'
import { Reply } from './legacy-reply.ts'
import { ModernReplies } from './modern-replies.ts'
import type { ModernReply } from './modern-reply.ts'
import { checkModern, isModern } from './modern-requests.ts'
import type { Gateway } from './request-handler.ts'

interface Deps {
  readonly gateway: Gateway
  readonly keys: Pick<Keys, 'owner'>
  readonly facts: FactBus
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  readonly now: () => number
  readonly onError: (error: unknown) => void
  readonly log: Pick<Log, 'warn'>
}

type Place = Pick<Session, 'keyId' | 'agentType' | 'serverId'>

const MAX_BYTES = 10 * 1024 * 1024
const SESSION = 'mcp-session-id'
const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

/** `/mcp` and `/mcp/{server_id}`, before the framework: a call crosses here thousands of times, and is read once. */
export function createDoor(deps: Deps) {
  const { gateway, keys } = deps
  const headerName = deps.headerName.toLowerCase()
  const tooSlow = ({ agentType: agent_type }: Partial<Place>, messages: number) =>
    deps.log.warn({ agent_type, messages }, 'an agent reads too slowly, and was not told everything')
  const sessions = new Sessions(deps.now, tooSlow)
  const listeners = new Listeners({ resources: gateway.collection.subscriptions, onDropped: tooSlow })
  const noteCap = new NoteCap(
    () => performance.now(),
    (server_id, messages) =>
      deps.log.warn({ server_id, messages }, 'a server says more than agents are told'),
  )
  const modern = new ModernReplies({ now: deps.now, onDropped: (messages) => tooSlow({}, messages) })
  /** Whoever is with a server that it may no longer see hears nothing more of it. */
  const endHidden = () => {
    const isHidden = ({ serverId, agentType }: Place) => !gateway.hasServer(serverId, agentType)
    for (const session of [...sessions.all]) if (isHidden(session)) sessions.end(session)
    listeners.end(isHidden)
  }
  const changed = () => {
    gateway.changed()
    listeners.toolsChanged(sessions.all)
    endHidden()
  }
  const stops = (['tools_changed', 'server_added', 'server_updated', 'server_removed'] as const).map((kind) =>
    deps.facts.on(kind, changed),
  )

  stops.push(
    beginHearing({
      facts: deps.facts,
      collection: gateway.collection,
      sessions: () => sessions.all,
      passes: (serverId) => noteCap.take(serverId),
      note: (concerned, serverId, method, params) => listeners.note(concerned, serverId, method, params),
      changed: (method, type) =>
        listeners.changed(sessions.all, method, ({ serverId, agentType }) => {
          return serverId === undefined && (type === undefined || agentType === type)
        }),
      onLeftOut: (left) => deps.log.warn({ ...left }, 'something of a server is not offered to agents'),
    }),
  )

  stops.push(
    deps.facts.on('audited', ({ action, subject }) => {
      if (action !== 'key_removed') return
      sessions.close(subject)
      listeners.end(({ keyId }) => keyId === subject)
      modern.close(subject)
    }),
    deps.facts.on('server_removed', ({ server_id }) => noteCap.forget(server_id)),
    deps.facts.on('agent_tools_changed', ({ agent_type }) => {
      listeners.changed(sessions.all, TOOLS_CHANGED, ({ agentType }) => agentType === agent_type)
      endHidden()
    }),
  )

  function ownerOf({ headers }: IncomingMessage): KeyRecord {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[headerName]
    const owner = typeof given === 'string' ? keys.owner(given) : undefined
    if (owner) return owner
    throw new RpcError(NO_KEY, 'The gateway needs the key of an agent, as a Bearer token', { status: 401 })
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const owner = ownerOf(request)
    const serverId = serverOf(request.url ?? '')
    const place = { keyId: owner.id, agentType: owner.agent_type, serverId }
    if (!gateway.hasServer(serverId, place.agentType))
      throw new RpcError(CODES.request, 'There is no such server', { status: 404 })
    if (request.method === 'POST') post(request, response, place)
    else {
      const id = request.headers[SESSION]
      const isMeant = request.method === 'GET' || request.method === 'DELETE'
      if (!isMeant || typeof id !== 'string') throw notAllowed()
      const session = known(id, place)
      if (request.method === 'GET') listeners.listen(session, response, lastEventId(request))
      else {
        sessions.end(session)
        response.writeHead(204).end()
      }
    }
  }

  function post(request: IncomingMessage, response: ServerResponse, place: Place): void {
    if (!isJson(request.headers['content-type'] ?? ''))
      throw new RpcError(CODES.request, 'The body must be application/json', { status: 415 })
    readBody(
      request,
      (body) => {
        try {
          take(readIncoming(body), request, response, place)
        } catch (error) {
          fail(response, error, null)
        }
      },
      (error) => fail(response, error, null),
    )
  }

  function take(message: Incoming, request: IncomingMessage, response: ServerResponse, place: Place): void {
    try {
      if (isModern(message, request.headers)) takeModern(message, request, response, place)
      else if (message.method === 'initialize' && message.id !== undefined)
        greet(message, message.id, response, place)
      else takeLegacy(message, legacySession(request, place), response, place)
    } catch (error) {
      fail(response, error, message.id ?? null)
    }
  }

  function takeModern(
    message: Incoming,
    request: IncomingMessage,
    response: ServerResponse,
    place: Place,
  ): void {
    const { id, method } = message
    checkModern(message, request.headers)
    if (id === undefined || method === undefined) response.writeHead(202).end()
    else if (method === 'subscriptions/listen') listeners.subscribe(message, id, response, place)
    else {
      const reply = modern.open(message, id, response, place)
      if (reply) answer(message, place, reply, undefined)
    }
  }

  function takeLegacy(message: Incoming, session: Session, response: ServerResponse, place: Place): void {
    const { id, method, params } = message
    if (id !== undefined && method !== undefined) {
      if (session.open.has(id))
        throw new RpcError(CODES.request, 'A request with this id is still under way', { status: 400 })
      answer(message, place, new Reply(id, response, session), session)
      return
    }
    if (id !== undefined) session.asked.get(String(id))?.(message.answer)
    else if (method === 'notifications/cancelled') cancel(session, params.requestId)
    response.writeHead(202).end()
  }

  function answer(
    message: Incoming,
    place: Place,
    reply: Reply | ModernReply,
    session: Session | undefined,
  ): void {
    gateway
      .answer(message, {
        serverId: place.serverId,
        era: session ? 'legacy' : 'modern',
        agentType: place.agentType,
        requestId: requestId(),
        signal: reply.signal,
        session,
        tell: (method, params) => reply.tell(method, params),
        ask: (method, params) => reply.ask(method, params),
      })
      .then(
        (result) => reply.result(result),
        (error: unknown) => reply.fail(told(error)),
      )
  }

  function greet(message: Incoming, id: string | number, response: ServerResponse, place: Place): void {
    const { version, result } = gateway.initialize(message, place)
    const { capabilities } = message.params
    const session = sessions.open({
      ...place,
      version,
      capabilities: isObject(capabilities) ? capabilities : {},
    })
    session.atEnd.push(() => gateway.collection.left(hearerOf(session)))
    sendJson(response, 200, resultMessage(id, result), { [SESSION]: session.id })
  }

  function legacySession({ headers }: IncomingMessage, place: Place): Session {
    const id = headers[SESSION]
    if (typeof id !== 'string')
      throw new RpcError(CODES.request, 'Say initialize first: the request names no session', { status: 400 })
    const session = known(id, place)
    const version = headers['mcp-protocol-version']
    if (version !== undefined && version !== session.version)
      throw new RpcError(CODES.request, `This session speaks ${session.version}`, { status: 400 })
    return session
  }

  function known(id: string, place: Place): Session {
    const session = sessions.find(id, place)
    if (!session)
      throw new RpcError(CODES.request, 'This session is over: say initialize again', { status: 404 })
    return session
  }

  function told(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    deps.onError(error)
    return unexpected()
  }

  function fail(response: ServerResponse, error: unknown, id: string | number | null): void {
    const said = told(error)
    if (response.headersSent) response.destroy()
    else sendJson(response, said.status, errorMessage(id, said), HEADERS_OF[said.status])
  }

  const listener: RequestListener = (request, response) => {
    try {
      handle(request, response)
    } catch (error) {
      fail(response, error, null)
    }
  }
  return {
    takes: (url: string): boolean => url.startsWith('/mcp') && PATH.test(url),
    listener,
    close(): void {
      for (const stop of stops) stop()
      listeners.close()
      sessions.close()
      modern.close()
    },
  }
}

/** Outside of what the protocol keeps for itself. */
const NO_KEY = -31_401

const unexpected = (): RpcError => new RpcError(CODES.internal, 'An unexpected fault', { status: 500 })

const HEADERS_OF: Readonly<Record<number, Record<string, string>>> = {
  401: { 'www-authenticate': 'Bearer realm="toolroom"' },
  405: { allow: 'POST' },
}

/** Unique within this run and the next ones. */
const requestId = (): string => {
  requests += 1
  return `${RUN}${requests.toString(36)}`
}
const RUN = `req_${randomBytes(6).toString('base64url')}`
let requests = 0

const notAllowed = (): RpcError => new RpcError(CODES.request, 'This endpoint takes POST', { status: 405 })

const isJson = (type: string): boolean => type === 'application/json' || /^application\/json\b/i.test(type)

function lastEventId({ headers }: IncomingMessage): string | undefined {
  const given = headers['last-event-id']
  return typeof given === 'string' ? given : undefined
}

function cancel(session: Session, id: unknown): void {
  if (typeof id === 'string' || typeof id === 'number') session.open.get(id)?.cancel()
}

function serverOf(url: string): string | undefined {
  if (url === '/mcp') return undefined
  const segment = PATH.exec(url)?.[1]
  if (segment === undefined) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment // it names nobody
  }
}

function readBody(
  request: IncomingMessage,
  onBody: (body: Buffer) => void,
  onError: (error: RpcError) => void,
): void {
  const parts: Buffer[] = []
  let length = 0
  const onData = (part: Buffer) => {
    length += part.length
    parts.push(part)
    if (length <= MAX_BYTES) return
    request.off('data', onData).off('end', onEnd).resume()
    onError(new RpcError(CODES.request, 'The body is larger than 10 MiB', { status: 413 }))
  }
  const onEnd = () => onBody(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length))
  request
    .on('data', onData)
    .on('end', onEnd)
    .on('error', () => {}) // whoever hangs up gets no answer
}
