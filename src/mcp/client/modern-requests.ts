import { isObject } from '../../kernel/is-object.ts'
import { CallFailure, type TimedCallOptions } from '../../protocol/call.ts'
import type { Greeting } from './greeting.ts'
import type { Dialogue } from './json-rpc-peer.ts'
import { askableIn } from './server-requests.ts'

/** How requests are made; in the modern era each of them says who asks. */
export type Asker = Pick<Dialogue, 'request' | 'requestRaw'>

export const MODERN_VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'
const UNSUPPORTED_VERSION = -32_022
/** The level from which on a request wants to hear the log of the server. */
export const LOG_LEVEL = `${META}/logLevel`

export function isModern(version: string): boolean {
  return version === MODERN_VERSION
}

/** The question that only servers of the modern era understand. Rejects when the answer is not theirs. */
export async function discover(peer: Asker, version: string, timeoutMs: number): Promise<Greeting> {
  const deadline = performance.now() + timeoutMs
  const ask = (ms: number) =>
    modernAsker(peer, version).request('server/discover', {}, { timeoutMs: Math.max(1, ms) })
  const result = await ask(timeoutMs).catch((error: unknown) => {
    if (refersToOurs(error)) return ask(deadline - performance.now())
    throw error
  })
  const { supportedVersions, capabilities, instructions, _meta } = isObject(result) ? result : {}
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) {
    throw new Error('It supports no version of the modern era that Toolroom knows')
  }
  const serverInfo = isObject(_meta) ? _meta[`${META}/serverInfo`] : undefined
  return {
    era: 'modern',
    protocol_version: MODERN_VERSION,
    server_info: isObject(serverInfo) ? serverInfo : {},
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}

/** A refusal of the version that names versions is an invitation to choose among them. */
function refersToOurs(error: unknown): boolean {
  const { code, data } = (error instanceof CallFailure && error.remote) || {}
  const supported = code === UNSUPPORTED_VERSION && isObject(data) ? data.supported : undefined
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

/** Adds to every request what the modern era asks for. What a caller has put into `_meta` stays. */
export function modernAsker(peer: Asker, version: string): Asker {
  const own = {
    [`${META}/protocolVersion`]: MODERN_VERSION,
    [`${META}/clientCapabilities`]: {},
    [`${META}/clientInfo`]: { name: 'toolroom', version },
  }
  const withMeta = (params: unknown, { capabilities }: TimedCallOptions) => {
    const given = isObject(params) ? params : {}
    const can = capabilities && { [`${META}/clientCapabilities`]: askableIn(capabilities) }
    return { ...given, _meta: { ...own, ...can, ...(isObject(given._meta) ? given._meta : {}) } }
  }
  return {
    request: (method, params, options) => peer.request(method, withMeta(params, options), options),
    requestRaw: (method, params, options) => peer.requestRaw(method, withMeta(params, options), options),
  }
}
