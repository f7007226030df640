import { CallFailure } from '../../../protocol/call.ts'
import { MODERN_VERSION } from '../../../protocol/versions.ts'
import type { Greeting } from '../../client/greeting.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import { initialize } from '../../client/legacy-handshake.ts'
import { discover } from '../../client/modern-requests.ts'

/** A server that supports `server/discover` answers at once. */
const PROBE_MS = 2000

/**
 * Detects the era of a stdio server, within `timeoutMs`. The legacy handshake is tried first: nearly every stdio server
 * supports it, and some exit on any other first request. `knownVersion`: the protocol version of the last connection.
 */
export async function stdioHandshake(
  peer: JsonRpcPeer,
  version: string,
  timeoutMs: number,
  knownVersion: string | null,
): Promise<Greeting> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  // Half of the remaining time is reserved for the legacy handshake, however short the deadline is.
  const probe = () => discover(peer, version, Math.min(PROBE_MS, left() / 2)).catch(() => undefined)
  if (knownVersion === MODERN_VERSION) {
    const greeting = await probe()
    if (greeting) return greeting
  }
  try {
    const greeting = await initialize(peer, version, left())
    peer.notify('notifications/initialized')
    return greeting
  } catch (error) {
    if (!(error instanceof CallFailure) || error.reason !== 'remote') throw error
    const greeting = await probe() // whatever the error code: modern servers reject initialize with various codes
    if (greeting) return greeting
    throw error
  }
}
