import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import type { HttpClient } from '../../../net/http-client.ts'
import { type RemoteCode, RemoteFailure } from '../../../net/http-failure.ts'
import { CallFailure } from '../../../protocol/call.ts'
import type { Greeting } from '../../client/greeting.ts'
import { isModern } from '../../client/modern-requests.ts'
import { SseTransport } from '../sse/sse-transport.ts'
import { Streamable } from '../streamable-http/streamable-http.ts'
import type { Carrier, CarrierEvents, Transport } from './transport.ts'

/** How a server spoke the last time. */
export interface Known {
  readonly transport: Transport
  readonly protocol_version: string
}

interface Options extends CarrierEvents {
  readonly client: HttpClient
  readonly url: URL
  readonly version: string
  readonly secrets: KnownSecrets
  readonly transport: 'auto' | Transport
  readonly known: Known | null
}

type Way = 'discover' | 'initialize' | 'sse'

/** A server that knows a question answers it soon; silence means that it does not, and must leave time for the next. */
const PROBE_MS = 3000

/**
 * Finds the way in which a server speaks, within `timeoutMs`, and greets it. Over HTTP the modern question comes first: a
 * legacy server refuses it and is none the worse. What it spoke the last time comes before everything.
 */
export async function greetRemote(
  options: Options,
  timeoutMs: number,
): Promise<{ carrier: Carrier; greeting: Greeting }> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  const ways = waysFor(options)
  const isOnly = ways.length === 1
  const streamable = new Streamable(options)
  let failure: unknown
  for (let way = ways.shift(); way !== undefined && performance.now() < deadline; way = ways.shift()) {
    const share = ways.length === 0 ? left() : left() / 3
    const patienceMs = way === 'initialize' || isOnly ? left() : Math.min(PROBE_MS, share)
    const carrier = way === 'sse' ? new SseTransport({ ...options, endpointMs: patienceMs }) : streamable
    try {
      const greeting =
        way === 'discover' ? await streamable.discover(patienceMs) : await carrier.initialize(left())
      return { carrier, greeting }
    } catch (error) {
      if (way === 'sse') await carrier.close(0)
      const isGuess = way === 'sse' && failure !== undefined // then what the POST got tells more
      if (!maySpeakOtherwise(error) && !isGuess) throw error
      if (way === 'initialize' || failure === undefined || isLocked(error)) failure = error
      if (way === 'discover' && isSilence(error) && ways[0] === 'initialize') ways.splice(1, 0, 'discover')
    }
  }
  throw failure
}

function waysFor({ transport, known }: Options): Way[] {
  if (transport === 'sse') return ['sse']
  const modernFirst: Way[] = ['discover', 'initialize']
  const legacyFirst: Way[] = ['initialize', 'discover']
  const isLegacy =
    known !== null && known.transport === 'streamable_http' && !isModern(known.protocol_version)
  const streamable = isLegacy ? legacyFirst : modernFirst
  if (transport === 'streamable_http') return streamable
  return known?.transport === 'sse' ? ['sse', ...streamable] : [...streamable, 'sse']
}

/** What a server of another era or transport may well say. Whoever asks who we are, or is not there, says the same to all. */
const OTHERWISE: readonly RemoteCode[] = ['http_error', 'not_found', 'not_mcp', 'protocol_error', 'timeout']

function maySpeakOtherwise(error: unknown): boolean {
  if (error instanceof RemoteFailure) return OTHERWISE.includes(error.code)
  return !(error instanceof CallFailure) || error.reason === 'remote' || error.reason === 'timeout'
}

function isLocked(error: unknown): boolean {
  return error instanceof RemoteFailure && (error.code === 'auth_required' || error.code === 'forbidden')
}

function isSilence(error: unknown): boolean {
  if (error instanceof RemoteFailure) return error.code === 'timeout'
  return error instanceof CallFailure && error.reason === 'timeout'
}
