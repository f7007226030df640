import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { isBlockedHost } from './blocked-address.ts'
import { isLoopbackHost } from './proxy.ts'

const TIMEOUT_MS = 1_000

/**
 * Whether a port accepts connections now. Nothing is sent. Undefined if the host must not be contacted: only loopback
 * addresses are, and with `mayLeave` others, except metadata services.
 */
export function probePort(host: string, port: number, mayLeave: boolean): Promise<boolean | undefined> {
  if (isBlockedHost(host) || !(mayLeave || isLoopbackHost(host))) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket
      .once('connect', () => end(true))
      .once('timeout', () => end(false))
      .once('error', () => end(false))
  })
}

/** Rejects with the error of `listen` if the port cannot be opened now. */
export async function assertPortFree(host: string, port: number): Promise<void> {
  if (port === 0) return
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
