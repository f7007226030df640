import { CallFailure } from '../../protocol/call.ts'
import type { Greeting } from './greeting.ts'
import type { Dialogue } from './json-rpc-peer.ts'
import { initialize } from './legacy-handshake.ts'
import { discover, isModern } from './modern-requests.ts'

/** A server that knows the question answers it at once; silence means that it does not. */
const PROBE_MS = 2000

/**
 * Finds the era in which a server speaks, within `timeoutMs`. Legacy comes first: nearly every stdio server knows it, and
 * some end at a question that comes before `initialize`. `knownVersion` is what the server spoke the last time.
 */
export async function greet(
  peer: Dialogue,
  version: string,
  timeoutMs: number,
  knownVersion: string | null = null,
  capabilities: object = {},
): Promise<Greeting> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  // Half of the time is left for the other question, whatever a short deadline was set.
  const probe = () => discover(peer, version, Math.min(PROBE_MS, left() / 2)).catch(() => undefined)
  if (knownVersion !== null && isModern(knownVersion)) {
    const greeting = await probe()
    if (greeting) return greeting
  }
  try {
    return await initialize(peer, version, left(), capabilities)
  } catch (error) {
    if (!(error instanceof CallFailure) || error.reason !== 'remote') throw error
    const greeting = await probe() // whatever the code was: servers refuse in many ways
    if (greeting) return greeting
    throw error
  }
}
