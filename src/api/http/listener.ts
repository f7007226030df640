import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AppError, problemOf } from '../../kernel/errors.ts'
import type { HttpListener } from '../../kernel/http/http-types.ts'
import type { Gate } from './host-origin-gate.ts'
import { PlainConnections } from './plain/plain-connections.ts'
import { MAX_HEAD_BYTES } from './plain/request-head.ts'
import { knownError, newRequestId, PROBLEM_TYPE } from './problem.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import type { Refusal, Upgrade } from './websocket.ts'

/** Limits per connection. Node checks all connections every 5 s and closes slow ones. */
const LIMITS = {
  maxHeaderSize: MAX_HEAD_BYTES,
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  requireHostHeader: false, // the gate answers with problem+json
}

/** Handles some paths without the framework. Plain requests for them can be read without node:http, too. */
export interface DirectRoute {
  readonly takes: (url: string) => boolean
  readonly listener: HttpListener
}

/** A route whose requests wait until it is open: the port is open a moment earlier. */
export class LaterRoute implements DirectRoute {
  readonly takes: DirectRoute['takes']
  readonly #waiting: (() => void)[] = []
  listener: HttpListener = (request, response) => {
    this.#waiting.push(() => this.listener(request, response))
  }

  constructor(takes: DirectRoute['takes']) {
    this.takes = takes
  }

  open(listener: HttpListener): void {
    this.listener = listener
    for (const answer of this.#waiting.splice(0)) answer()
  }
}

export interface Listener {
  readonly server: Server
  readonly closeIdleConnections: () => void
  readonly closeAllConnections: () => void
}

/** The server below the framework. The gate checks requests and upgrades before routing. */
export function createListener(
  handler: RequestListener,
  gate: Gate,
  upgrade: Upgrade,
  direct?: DirectRoute,
  readsPlain = true,
): Listener {
  const guarded: RequestListener = (request, response) => {
    const refusal = gate(request)
    if (!refusal) {
      const listener = direct?.takes(request.url ?? '') ? direct.listener : handler
      return listener(request, response)
    }
    const problem = problemResponse(refusal)
    response.writeHead(problem.status, { ...problem.headers, connection: 'close' })
    response.end(request.method === 'HEAD' ? undefined : problem.body)
  }
  const server = createServer(LIMITS, guarded)
  const serveByNode = server.listeners('connection')[0] as (this: Server, socket: Socket) => void
  const limits = limitConnections(server)
  const plain = direct && readsPlain ? plainConnections(server, serveByNode, limits, gate, direct) : undefined
  server.on('clientError', onClientError)
  server.on('checkExpectation', guarded)
  server.on('upgrade', (request, socket, head) => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      reinsert(request, socket, head)
      serveByNode.call(server, socket as Socket)
      return
    }
    socket.on('error', () => socket.destroy())
    refuse(socket, gate(request) ?? upgrade(request, socket, head))
  })
  return {
    server,
    closeIdleConnections() {
      server.closeIdleConnections()
      plain?.closeIdle()
    },
    closeAllConnections() {
      server.closeAllConnections()
      plain?.closeAll()
    },
  }
}

/** Every new connection starts here. Node's own listener gets those that send anything but plain requests. */
function plainConnections(
  server: Server,
  serveByNode: (this: Server, socket: Socket) => void,
  limits: ConnectionLimits,
  gate: Gate,
  route: DirectRoute,
): PlainConnections {
  const plain = new PlainConnections({
    route,
    admits: (request) => gate(request) === undefined,
    handOver: (socket) => serveByNode.call(server, socket),
    onCut: (socket) => writeProblem(socket, invalidHttp()),
    onServing: limits.serving,
    onIdle: limits.idle,
    isClosing: () => !server.listening,
    keepAliveMs: LIMITS.keepAliveTimeout,
  })
  server.off('connection', serveByNode)
  server.on('connection', (socket: Socket) => plain.add(socket))
  return plain
}

/** Writes the refusal of an upgrade, at once unless it has to wait. */
export function refuse(socket: Duplex, refusal: Refusal | undefined): void {
  if (refusal instanceof Promise) void refusal.then((error) => writeProblem(socket, error))
  else if (refusal !== undefined) writeProblem(socket, refusal)
}

/** A request that Node could not parse. */
function onClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  writeProblem(socket, knownError(error) ?? invalidHttp())
}

const invalidHttp = (): AppError => new AppError('bad_request', 'The request is not valid HTTP')

/**
 * Some HTTP clients offer an upgrade to h2c with every request and expect a plain response. Node has detached its parser
 * at this point, so the request is put back into the socket without the offer and parsed again.
 */
function reinsert(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue
    lines.push(`${name}: ${/^connection$/i.test(name) ? withoutOffer(value) : value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
}

/** `Upgrade, HTTP2-Settings, close` becomes `close`. */
function withoutOffer(connection: string): string {
  const words = connection.split(',').map((word) => word.trim())
  return words.filter((word) => !/^(?:upgrade|http2-settings)$/i.test(word)).join(', ')
}

/** Writes to the socket, for requests without a response object. */
function writeProblem(socket: Duplex, error: AppError): void {
  const { status, headers, body } = problemResponse(error)
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

function problemResponse(error: AppError) {
  const requestId = newRequestId()
  const body = JSON.stringify(problemOf(error, requestId))
  const own = {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
  }
  return { status: error.status, headers: { ...SECURITY_HEADERS, ...own }, body }
}

const CONNECTION_LIMITS = {
  connections: 512,
  /** A client that reads nothing for this long, although something was sent, is disconnected. */
  unreadMs: 30_000,
  /** What all clients together may leave unread. Above it, those that have not read for the longest time are disconnected. */
  unreadBytes: 64 * 1024 * 1024,
}
/** Node refuses connections beyond this limit if all open ones are being served. */
const HARD_LIMIT = 1024
const CHECK_EVERY_MS = 1000

/** Learns of connections that node:http does not serve. */
interface ConnectionLimits {
  readonly serving: (socket: Socket) => void
  readonly idle: (socket: Socket) => void
}

/**
 * Beyond the maximum, closes the connection that has been idle or sending its request for the longest time, or else one
 * whose client does not read. Clients that only hold connections open can neither lock out others nor fill the memory.
 */
export function limitConnections(
  server: Server,
  limits: typeof CONNECTION_LIMITS = CONNECTION_LIMITS,
): ConnectionLimits {
  /** When each connection became idle, as a number that grows; 0 while it is served. A set would be changed twice per call. */
  const open = new Map<Socket, { idleSince: number }>()
  let lastIdle = 0
  const unread = new Set<Socket>() // in the order in which it was noticed
  let timer: NodeJS.Timeout | undefined

  /** Node extends the timeout of a socket whenever the client has read something. */
  const check = () => {
    let bytes = 0
    for (const socket of open.keys()) {
      bytes += socket.writableLength
      if (socket.writableLength > 0) {
        unread.add(socket)
        if (socket.timeout !== limits.unreadMs) socket.setTimeout(limits.unreadMs)
      } else if (unread.delete(socket) && socket.timeout === limits.unreadMs) socket.setTimeout(0)
    }
    for (const socket of unread) {
      if (bytes <= limits.unreadBytes) break
      bytes -= socket.writableLength
      socket.destroy()
    }
  }

  const serving = (socket: Socket): void => {
    const connection = open.get(socket)
    if (connection) connection.idleSince = 0
  }
  const becomesIdle = (socket: Socket): void => {
    const connection = open.get(socket)
    lastIdle += 1
    if (connection) connection.idleSince = lastIdle
  }
  const longestIdle = (): Socket | undefined => {
    let [longest, since]: [Socket | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (const [socket, { idleSince }] of open)
      if (idleSince > 0 && idleSince < since && !socket.destroyed) [longest, since] = [socket, idleSince]
    return longest
  }

  const makeRoom = () => {
    const longest = longestIdle()
    if (longest) longest.destroy()
    else {
      check()
      const [slowest] = unread
      slowest?.destroy()
    }
  }

  /** One function for all responses, because it is called thousands of times per second. */
  function onResponseClose(this: ServerResponse): void {
    becomesIdle(this.req.socket)
  }

  server.maxConnections = HARD_LIMIT
  server.on('connection', (socket: Socket) => {
    if (open.has(socket)) return // reinserted after an upgrade offer that was ignored
    if (open.size >= limits.connections) makeRoom()
    open.set(socket, { idleSince: 0 })
    becomesIdle(socket)
    timer ??= setInterval(check, CHECK_EVERY_MS).unref()
    socket.on('timeout', () => socket.destroy())
    socket.once('close', () => {
      open.delete(socket)
      unread.delete(socket)
      if (open.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
  })
  server.prependListener('upgrade', (_, socket) => serving(socket as Socket))
  server.prependListener('request', ({ socket }, response: ServerResponse) => {
    serving(socket)
    response.on('close', onResponseClose)
  })
  return { serving, idle: becomesIdle }
}
