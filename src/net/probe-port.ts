import { connect } from 'node:net'
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
