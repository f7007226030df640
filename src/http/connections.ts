import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many connections are served at once. */
const MOST = 512
/** Node itself refuses beyond this, should none of them be one that can be let go. */
const HARD_LIMIT = 1024

/**
 * When every place is taken, the connection that has waited longest without being answered goes: an idle one, or one
 * that sends its request byte by byte. So nobody can keep others out by holding connections open.
 */
export function letGoOfIdle(server: Server): void {
  const idle = new Set<Socket>() // in the order in which they became idle
  const known = new WeakSet<Socket>()
  let open = 0
  /** One for all responses: it is called thousands of times in a second. */
  function idleAgain(this: ServerResponse): void {
    const { socket } = this.req
    if (!socket.destroyed) idle.add(socket)
  }
  server.maxConnections = HARD_LIMIT
  server.on('connection', (socket: Socket) => {
    if (known.has(socket)) return // given back by an upgrade that was none
    known.add(socket)
    open += 1
    idle.add(socket)
    socket.once('close', () => {
      open -= 1
      idle.delete(socket)
    })
    if (open <= MOST) return
    const [longest] = idle
    longest?.destroy()
  })
  server.prependListener('upgrade', (_, socket) => idle.delete(socket as Socket)) // it is being served
  server.prependListener('request', ({ socket }, response: ServerResponse) => {
    idle.delete(socket)
    response.on('close', idleAgain)
  })
}
