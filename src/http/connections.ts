import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const MAX_CONNECTIONS = 512
/** Node refuses connections beyond this limit if none of the open ones is idle. */
const HARD_LIMIT = 1024

/**
 * Beyond the maximum, closes the connection that has been idle or sending its request for the longest time. Clients
 * that only hold connections open cannot lock out others.
 */
export function limitConnections(server: Server): void {
  const idle = new Set<Socket>() // in the order in which they became idle
  const known = new WeakSet<Socket>()
  let open = 0
  /** One function for all responses, because it is called thousands of times per second. */
  function onResponseClose(this: ServerResponse): void {
    const { socket } = this.req
    if (!socket.destroyed) idle.add(socket)
  }
  server.maxConnections = HARD_LIMIT
  server.on('connection', (socket: Socket) => {
    if (known.has(socket)) return // reinserted after an upgrade offer that was ignored
    known.add(socket)
    open += 1
    idle.add(socket)
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
    })
    if (open <= MAX_CONNECTIONS) return
    const [longest] = idle
    longest?.destroy()
  })
  server.prependListener('upgrade', (_, socket) => idle.delete(socket as Socket)) // it is being served
  server.prependListener('request', ({ socket }, response: ServerResponse) => {
    idle.delete(socket)
    response.on('close', onResponseClose)
  })
}
