import { type RemoteCode, RemoteFailure } from '../../../net/http-failure.ts'
import type { Connected, HttpTransportKind, HttpTransportOptions } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import { MODERN_VERSION } from '../../protocol/mcp-constants.ts'
import { SseTransport } from '../sse/sse-transport.ts'
import { StreamableHttpTransport } from '../streamable-http/streamable-http-transport.ts'

/** Transport and protocol version of an earlier connection. */
export interface Known {
  readonly transport: HttpTransportKind
  readonly protocol_version: string
}

interface Options extends HttpTransportOptions {
  readonly transport: 'auto' | HttpTransportKind
  readonly known: Known | null
}

type Attempt = 'discover' | 'initialize' | 'sse'

/** A server that supports a request answers soon. A timeout must leave time for the next attempt. */
const PROBE_MS = 3000

/**
 * Detects transport and era of an HTTP server within `timeoutMs`, and performs the handshake. The modern handshake is tried
 * first, because legacy servers reject it without harm. What worked the last time is tried before everything else.
 */
export async function negotiateTransport(options: Options, timeoutMs: number): Promise<Connected> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  const attempts = attemptsFor(options)
  const isOnly = attempts.length === 1
  const streamable = new StreamableHttpTransport(options)
  let failure: unknown
  for (
    let next = attempts.shift();
    next !== undefined && performance.now() < deadline;
    next = attempts.shift()
  ) {
    const share = attempts.length === 0 ? left() : left() / 3
    const attemptMs = next === 'initialize' || isOnly ? left() : Math.min(PROBE_MS, share)
    const transport = next === 'sse' ? new SseTransport({ ...options, endpointMs: attemptMs }) : streamable
    try {
      const handshake =
        next === 'discover' ? await streamable.discover(attemptMs) : await transport.initialize(left())
      return { transport, handshake }
    } catch (error) {
      if (next === 'sse') await transport.close(0)
      const isGuess = next === 'sse' && failure !== undefined // the failure of the POST is more informative
      if (!mayBeMismatch(error) && !isGuess) throw error
      if (next === 'initialize' || failure === undefined || needsAuth(error)) failure = error
      if (next === 'discover' && isTimeout(error) && attempts[0] === 'initialize')
        attempts.splice(1, 0, 'discover')
    }
  }
  throw failure
}

function attemptsFor({ transport, known }: Options): Attempt[] {
  if (transport === 'sse') return ['sse']
  const isLegacy =
    known !== null && known.transport === 'streamable_http' && known.protocol_version !== MODERN_VERSION
  const streamable: Attempt[] = isLegacy ? ['initialize', 'discover'] : ['discover', 'initialize']
  if (transport === 'streamable_http') return streamable
  return known?.transport === 'sse' ? ['sse', ...streamable] : [...streamable, 'sse']
}

/** Failures that another era or transport may avoid. All others, such as 401, would occur with each of them. */
const MISMATCHES: readonly RemoteCode[] = ['http_error', 'not_found', 'not_mcp', 'protocol_error', 'timeout']

function mayBeMismatch(error: unknown): boolean {
  if (error instanceof RemoteFailure) return MISMATCHES.includes(error.code)
  return !(error instanceof CallFailure) || error.reason === 'remote' || error.reason === 'timeout'
}

function needsAuth(error: unknown): boolean {
  return error instanceof RemoteFailure && (error.code === 'auth_required' || error.code === 'forbidden')
}

function isTimeout(error: unknown): boolean {
  if (error instanceof RemoteFailure) return error.code === 'timeout'
  return error instanceof CallFailure && error.reason === 'timeout'
}
