import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const LIMITS = {
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
export interface ConnectionLimits {
  readonly serving: (socket: Socket) => void
  readonly idle: (socket: Socket) => void
}

/**
 * Beyond the maximum, closes the connection that has been idle or sending its request for the longest time, or else one
 * whose client does not read. Clients that only hold connections open can neither lock out others nor fill the memory.
 */
export function limitConnections(server: Server, limits: typeof LIMITS = LIMITS): ConnectionLimits {
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
