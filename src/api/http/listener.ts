import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AppError, problemOf } from '../../kernel/errors.ts'
import type { HttpListener, HttpRequest } from '../../kernel/http/http-types.ts'
import { type ConnectionLimits, limitConnections } from './connection-limits.ts'
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
  /** Whether a request may have a body, by its head. Asked before a body that arrives in parts is kept. */
  readonly opens: (request: HttpRequest) => boolean
}

/** A route whose requests wait until it is open: the port is open a moment earlier. */
export class LaterRoute implements DirectRoute {
  readonly takes: DirectRoute['takes']
  readonly #waiting: (() => void)[] = []
  opens: DirectRoute['opens'] = () => false
  listener: HttpListener = (request, response) => {
    this.#waiting.push(() => this.listener(request, response))
  }

  constructor(takes: DirectRoute['takes']) {
    this.takes = takes
  }

  open({ listener, opens }: Pick<DirectRoute, 'listener' | 'opens'>): void {
    this.listener = listener
    this.opens = opens
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
    const refusal = gate(request) ?? limits.refusal(request)
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
  // A request in a pipeline waits for the responses before it: node:http would write into the middle of one.
  server.on('checkContinue', (request, response) => {
    limits.afterResponses(request.socket, () => {
      if (request.socket.destroyed) return
      response.writeContinue()
      server.emit('request', request, response)
    })
  })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', destroyThis)
    limits.afterResponses(socket as Socket, () => onUpgrade(request, socket, head))
  })
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (socket.destroyed) return
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      reinsert(request, socket, head)
      socket.off('error', destroyThis) // node:http listens again
      serveByNode.call(server, socket as Socket)
      return
    }
    refuse(socket, gate(request) ?? upgrade(request, socket, head))
  }
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
    admits: (request) => gate(request) === undefined && !limits.isFull(),
    handOver: (socket) => serveByNode.call(server, socket),
    onCut: (socket) => writeProblem(socket, invalidHttp()),
    onServing: limits.serving,
    onIdle: limits.idle,
    server,
    keepAliveMs: LIMITS.keepAliveTimeout,
  })
  server.off('connection', serveByNode)
  server.on('connection', (socket: Socket) => plain.add(socket))
  return plain
}

function destroyThis(this: Duplex): void {
  this.destroy()
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
    ...(error.retryAfterS !== undefined && { 'retry-after': String(error.retryAfterS) }),
  }
  return { status: error.status, headers: { ...SECURITY_HEADERS, ...own }, body }
}
