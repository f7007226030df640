import { discover, type HandshakeResult, initialize } from '../../client/handshake.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import { CallFailure, type ClientProfile } from '../../protocol/call.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'

/** A server that supports `server/discover` answers at once. */
const PROBE_MS = 2000

interface Options {
  /** Toolroom's version. */
  readonly version: string
  /** The client that the server runs for alone. */
  readonly profile?: ClientProfile | undefined
  readonly timeoutMs: number
  /** The protocol version of the last connection. */
  readonly knownVersion: string | null
}

/**
 * Detects the era of a stdio server, within `timeoutMs`. The legacy handshake is tried first: nearly every stdio server
 * supports it, and some exit on any other first request.
 */
export async function stdioHandshake(
  peer: JsonRpcPeer,
  { version, profile, timeoutMs, knownVersion }: Options,
): Promise<HandshakeResult> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  // Half of the remaining time is reserved for the legacy handshake, however short the deadline is.
  const probe = () => discover(peer, version, Math.min(PROBE_MS, left() / 2)).catch(() => undefined)
  if (knownVersion === MODERN_VERSION) {
    const handshake = await probe()
    if (handshake) return handshake
  }
  try {
    const handshake = await initialize(peer, version, left(), profile)
    peer.notify('notifications/initialized')
    return handshake
  } catch (error) {
    if (!(error instanceof CallFailure) || error.reason !== 'remote') throw error
    const handshake = await probe() // whatever the error code: modern servers reject initialize with various codes
    if (handshake) return handshake
    throw error
  }
}
