import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../../kernel/errors.ts'

const CONNECTION_LIMITS = {
  connections: 512,
  /** Beside them, for health checks of this computer and for the dashboard. */
  reserve: 64,
  /** A client that reads nothing for this long, although something was sent, is disconnected. */
  unreadMs: 30_000,
  /** What all clients together may leave unread. Above it, those that have not read for the longest time are disconnected. */
  unreadBytes: 64 * 1024 * 1024,
}
/** Node refuses connections beyond this limit. */
const HARD_LIMIT = 1024
const CHECK_EVERY_MS = 1000
/** A new connection has this much time to send its request before it can be closed for another one. */
const FRESH_MS = 100

export interface ConnectionLimits {
  /** Called for connections that node:http does not serve. */
  readonly serving: (socket: Socket) => void
  readonly idle: (socket: Socket) => void
  /** Whether all places beside the reserve are in use. */
  readonly isFull: () => boolean
  /** Why a request is not served; undefined if it is. */
  readonly refusal: (request: IncomingMessage) => AppError | undefined
  /** Does the work when all responses of the connection so far were sent. */
  readonly afterResponses: (socket: Socket, work: () => void) => void
}

interface Connection {
  readonly openedAt: number
  /** It has not sent the head of a request yet. */
  isNew: boolean
  /** When it became idle, as a number that grows; 0 while it is served. A set would be changed twice per call. */
  idleSince: number
  /** The same, but kept while it is served. */
  lastIdle: number
  /** The last request that node:http has read, and its response until that was sent. */
  request: IncomingMessage | undefined
  response: ServerResponse | undefined
  hasReserve: boolean
}

/**
 * Beyond the maximum, closes the connection that has been idle or sending its request for the longest time, or else one
 * whose client does not read. Clients that only hold connections open can neither lock out others nor fill the memory.
 */
export function limitConnections(
  server: Server,
  limits: typeof CONNECTION_LIMITS = CONNECTION_LIMITS,
): ConnectionLimits {
  const open = new Map<Socket, Connection>()
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
  const checkAll = () => {
    check()
    for (let more = open.size - limits.connections; more > 0; more -= 1) longestWaiting()?.destroy()
  }

  const serving = (socket: Socket): void => {
    const connection = open.get(socket)
    if (!connection) return
    connection.idleSince = 0
    connection.isNew = false
    if (isOver(limits.connections)) makeRoom(socket)
  }
  const becomesIdle = (socket: Socket): void => {
    const connection = open.get(socket)
    lastIdle += 1
    if (!connection) return
    connection.idleSince = lastIdle
    connection.lastIdle = lastIdle
  }

  /** The connection that has been idle or sending its request for the longest time; one with a reserve only if there is no other. */
  const longestWaiting = (but?: Socket): Socket | undefined => {
    let [longest, since]: [Socket | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (const [socket, connection] of open) {
      if (!isWaiting(connection) || socket.destroyed || socket === but) continue
      const order = connection.hasReserve
        ? connection.lastIdle + Number.MAX_SAFE_INTEGER / 2
        : connection.lastIdle
      if (order < since) [longest, since] = [socket, order]
    }
    return longest
  }

  /** A connection that was closed for another one is still open for a moment. */
  const isOver = (most: number): boolean =>
    open.size > most && [...open.keys()].filter(({ destroyed }) => !destroyed).length > most

  /** `socket`: the connection that needs it. */
  const makeRoom = (socket: Socket) => {
    const longest = longestWaiting(socket)
    const isSpared = longest && isFresh(open.get(longest)) && open.size < HARD_LIMIT - limits.reserve
    if (longest && !isSpared) longest.destroy()
    else {
      check()
      const [slowest] = unread
      slowest?.destroy()
    }
  }

  /** Connections whose request has arrived, and is not answered. */
  const served = (): Connection[] => [...open.values()].filter((connection) => !isWaiting(connection))
  const isFull = () => open.size > limits.connections && served().length > limits.connections

  /** One function for all responses, because it is called thousands of times per second. */
  function onResponseClose(this: ServerResponse): void {
    const { socket } = this.req
    const connection = open.get(socket)
    if (connection?.response !== this) return // others follow in its pipeline
    connection.request = undefined
    connection.response = undefined
    becomesIdle(socket)
  }

  server.maxConnections = HARD_LIMIT
  server.on('connection', (socket: Socket) => {
    if (open.has(socket)) return // reinserted after an upgrade offer that was ignored
    if (isOver(limits.connections - 1)) makeRoom(socket)
    open.set(socket, {
      openedAt: performance.now(),
      isNew: true,
      idleSince: 0,
      lastIdle: 0,
      request: undefined,
      response: undefined,
      hasReserve: false,
    })
    becomesIdle(socket)
    timer ??= setInterval(checkAll, CHECK_EVERY_MS).unref()
    socket.on('timeout', () => socket.destroy())
    socket.once('close', () => {
      open.delete(socket)
      unread.delete(socket)
      if (open.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
  })
  server.prependListener('upgrade', (_, socket) => {
    serving(socket as Socket)
    const connection = open.get(socket as Socket)
    if (connection) connection.request = undefined
  })
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(request.socket)
    if (connection) {
      connection.request = request
      connection.response = response
      connection.hasReserve = hasReserve(request)
    }
    serving(request.socket)
    response.on('close', onResponseClose)
  })
  return {
    serving,
    idle: becomesIdle,
    isFull,
    refusal(request) {
      if (open.size <= limits.connections) return undefined
      const isReserved = hasReserve(request)
      const others = served().filter((connection) => connection.hasReserve === isReserved).length
      if (others <= (isReserved ? limits.reserve : limits.connections)) return undefined
      return new AppError('too_many_clients', `Too many connections (max ${limits.connections})`, {
        retryAfterS: 5,
      })
    },
    afterResponses(socket, work) {
      const response = open.get(socket)?.response
      if (response) response.once('close', work)
      else work()
    },
  }
}

/** Idle, or its request has not arrived completely: it can be closed for another connection. */
const isWaiting = ({ idleSince, request }: Connection): boolean =>
  idleSince > 0 || (request !== undefined && !request.complete)

const isFresh = (connection: Connection | undefined): boolean =>
  connection?.isNew === true && performance.now() - connection.openedAt < FRESH_MS

/** The gate has checked the origin already. */
function hasReserve({ method, url = '', headers, socket }: IncomingMessage): boolean {
  if (headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin') return true
  const isHealth = (method === 'GET' || method === 'HEAD') && /^\/api\/health\/?(?:\?|$)/.test(url)
  return isHealth && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '')
}
