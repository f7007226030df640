import { randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FactBus } from '../kernel/facts.ts'
import type { Gateway } from './gateway.service.ts'
import type { KeyRecord } from './keys.schema.ts'
import type { Keys } from './keys.service.ts'
import { Listeners, SSE, writeEvent } from './listeners.ts'
import { checkModern, isModern } from './modern.ts'
import { CODES, errorMessage, type Incoming, isObject, RpcError, readIncoming, resultMessage } from './rpc.ts'
import { type Session, Sessions } from './sessions.ts'

interface Deps {
  readonly gateway: Gateway
  readonly keys: Pick<Keys, 'owner'>
  readonly facts: FactBus
  /** The header that may carry the key instead of Authorization. */
  readonly headerName: string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

const MAX_BYTES = 10 * 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
const SESSION = 'mcp-session-id'
const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

/** `/mcp` and `/mcp/{server_id}`, before the framework: a call crosses here thousands of times, and is read once. */
export function createDoor(deps: Deps) {
  const { gateway, keys } = deps
  const sessions = new Sessions(deps.now)
  const listeners = new Listeners()
  const changed = () => {
    gateway.changed()
    listeners.toolsChanged(sessions.all)
  }
  const stops = (['tools_changed', 'server_added', 'server_updated', 'server_removed'] as const).map((kind) =>
    deps.facts.on(kind, changed),
  )

  stops.push(
    deps.facts.on('server_note', ({ server_id, method, params }) =>
      listeners.note(sessions.all, server_id, method, params),
    ),
  )

  stops.push(
    deps.facts.on('audited', ({ action, subject }) => {
      if (action !== 'key_removed') return
      sessions.close(subject)
      listeners.close(subject)
    }),
  )

  function ownerOf({ headers }: IncomingMessage): KeyRecord {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    const given = bearer ?? headers[deps.headerName.toLowerCase()]
    const owner = typeof given === 'string' ? keys.owner(given) : undefined
    if (owner) return owner
    throw new RpcError(NO_KEY, 'The gateway needs the key of an agent, as a Bearer token', { status: 401 })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const owner = ownerOf(request)
    const serverId = serverOf(request.url ?? '')
    if (!gateway.hasServer(serverId))
      throw new RpcError(CODES.request, 'There is no such server', { status: 404 })
    const place = { keyId: owner.id, serverId }
    if (request.method === 'POST') return post(request, response, owner, place)
    if (request.method !== 'GET' && request.method !== 'DELETE') throw notAllowed()
    const id = request.headers[SESSION]
    if (typeof id !== 'string') throw notAllowed()
    const session = known(id, place)
    if (request.method === 'GET') return listeners.listen(session, response)
    sessions.end(session)
    response.writeHead(204).end()
  }

  async function post(
    request: IncomingMessage,
    response: ServerResponse,
    owner: KeyRecord,
    place: Pick<Session, 'keyId' | 'serverId'>,
  ): Promise<void> {
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
      throw new RpcError(CODES.request, 'The body must be application/json', { status: 415 })
    const message = readIncoming(await bodyOf(request))
    const modern = isModern(message, request.headers)
    const { id, method } = message
    try {
      if (modern) checkModern(message, request.headers)
      const isGreeting = !modern && method === 'initialize' && id !== undefined
      const session = modern || isGreeting ? undefined : legacySession(request, place)
      if (session && id !== undefined && method === undefined) session.asked.get(String(id))?.(message.answer)
      if (id === undefined || method === undefined) return void response.writeHead(202).end()
      if (isGreeting) return greet(message, id, response, place)
      if (modern && method === 'subscriptions/listen')
        return listeners.subscribe(message, id, response, place)
      const tell = (note: string, about: unknown) => tellBefore(response, note, about as object)
      const asking = {
        serverId: place.serverId,
        era: modern ? ('modern' as const) : ('legacy' as const),
        agentType: owner.agent_type,
        requestId: requestId(),
        signal: untilGone(response),
        tell,
        ask: session && ((asked: string, about: unknown) => askAgent(session, response, asked, about)),
      }
      session?.open.add(tell)
      try {
        finish(response, resultMessage(id, await gateway.answer(message, asking)))
      } finally {
        session?.open.delete(tell)
      }
    } catch (error) {
      fail(response, error, id ?? null)
    }
  }

  function greet(
    message: Incoming,
    id: string | number,
    response: ServerResponse,
    place: Pick<Session, 'keyId' | 'serverId'>,
  ): void {
    const { version, result } = gateway.initialize(message, place.serverId)
    const { capabilities } = message.params
    const session = sessions.open({
      ...place,
      version,
      capabilities: isObject(capabilities) ? capabilities : {},
    })
    send(response, 200, resultMessage(id, result), { [SESSION]: session.id })
  }

  function legacySession({ headers }: IncomingMessage, place: Pick<Session, 'keyId' | 'serverId'>): Session {
    const id = headers[SESSION]
    if (typeof id !== 'string')
      throw new RpcError(CODES.request, 'Say initialize first: the request names no session', { status: 400 })
    const session = known(id, place)
    const version = headers['mcp-protocol-version']
    if (version !== undefined && version !== session.version)
      throw new RpcError(CODES.request, `This session speaks ${session.version}`, { status: 400 })
    return session
  }

  function known(id: string, place: Pick<Session, 'keyId' | 'serverId'>): Session {
    const session = sessions.find(id, place)
    if (!session)
      throw new RpcError(CODES.request, 'This session is over: say initialize again', { status: 404 })
    return session
  }

  function fail(response: ServerResponse, error: unknown, id: string | number | null): void {
    if (!(error instanceof RpcError)) deps.onError(error)
    const told = error instanceof RpcError ? error : unexpected()
    const message = errorMessage(id, told)
    if (response.headersSent) finish(response, message)
    else send(response, told.status, message, HEADERS_OF[told.status] ?? {})
  }

  const listener: RequestListener = (request, response) => {
    handle(request, response).catch((error: unknown) => fail(response, error, null))
  }
  return {
    takes: (url: string): boolean => PATH.test(url),
    listener,
    close(): void {
      for (const stop of stops) stop()
      listeners.close()
      sessions.close()
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

const requestId = (): string => `req_${randomBytes(9).toString('base64url')}`

const notAllowed = (): RpcError => new RpcError(CODES.request, 'This endpoint takes POST', { status: 405 })

function serverOf(url: string): string | undefined {
  const segment = PATH.exec(url)?.[1]
  if (segment === undefined) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment // it names nobody
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...JSON_TYPE, ...headers, 'content-length': body.length }).end(body)
}

/** An answer that something came before is the last event of a stream; any other is plain JSON. */
function finish(response: ServerResponse, message: Buffer): void {
  if (!response.headersSent) {
    send(response, 200, message)
    return
  }
  response.write('event: message\ndata: ')
  response.write(message)
  response.end('\n\n')
}

/** What comes before an answer makes a stream of it. */
function tellBefore(response: ServerResponse, method: string, params: object, id?: string): void {
  if (response.destroyed || response.writableEnded) return
  if (!response.headersSent) response.writeHead(200, SSE)
  writeEvent(response, method, params, id)
}

const ASKABLE: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}
let questions = 0

/** A question of a server goes to the agent whose request it is working on, over the answer to that request. */
function askAgent(
  session: Session,
  response: ServerResponse,
  method: string,
  params: unknown,
): Promise<unknown> {
  const needs = Object.hasOwn(ASKABLE, method) ? ASKABLE[method] : undefined
  if (needs === undefined || session.capabilities[needs] === undefined)
    return Promise.reject(new RpcError(CODES.method, `The agent cannot be asked for ${method.slice(0, 100)}`))
  questions += 1
  const id = `toolroom-${questions}`
  return new Promise((resolve, reject) => {
    const over = () => session.asked.delete(id)
    session.asked.set(id, ({ result, error }) => {
      over()
      if (result !== undefined) resolve(result)
      else reject(isObject(error) ? error : new RpcError(CODES.internal, 'The agent gave no answer'))
    })
    response.once('close', () => {
      if (over()) reject(new RpcError(CODES.internal, 'The agent has hung up'))
    })
    tellBefore(response, method, params as object, id)
  })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BYTES)
      throw new RpcError(CODES.request, 'The body is larger than 10 MiB', { status: 413 })
    parts.push(part)
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
}

/** Whoever hangs up does not want the answer any more. */
function untilGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  return gone.signal
}
