import { isObject } from '../../kernel/is-object.ts'
import { CallFailure, type TimedCallOptions } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import type { Greeting } from './greeting.ts'
import type { Requester } from './json-rpc-peer.ts'
import { CLIENT_CAPABILITIES } from './server-requests.ts'

/** `server/discover`, the handshake of the modern era. Rejects when the server does not support that era. */
export async function discover(peer: Requester, version: string, timeoutMs: number): Promise<Greeting> {
  const deadline = performance.now() + timeoutMs
  const request = (ms: number) =>
    modernRequester(peer, version).request('server/discover', {}, { timeoutMs: Math.max(1, ms) })
  const result = await request(timeoutMs).catch((error: unknown) => {
    if (offersOurVersion(error)) return request(deadline - performance.now())
    throw error
  })
  const { supportedVersions, capabilities, instructions } = isObject(result) ? result : {}
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) {
    throw new Error('The server supports no modern protocol version that Toolroom supports')
  }
  const serverInfo = metaOf(result)[META.serverInfo]
  return {
    era: 'modern',
    protocol_version: MODERN_VERSION,
    server_info: isObject(serverInfo) ? serverInfo : {},
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}

/** Whether the server rejected the version and lists ours among those it supports. */
function offersOurVersion(error: unknown): boolean {
  const { code, data } = (error instanceof CallFailure && error.remote) || {}
  const supported = code === CODES.version && isObject(data) ? data.supported : undefined
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

/** Adds the `_meta` that the modern era requires to every request. Keys that the caller has set stay. */
export function modernRequester(peer: Requester, version: string): Requester {
  const own = {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientCapabilities]: {},
    [META.clientInfo]: { name: 'toolroom', version },
  }
  const withMeta = (params: unknown, { capabilities }: TimedCallOptions) => {
    const declared = capabilities && { [META.clientCapabilities]: forwardedCapabilities(capabilities) }
    return { ...(isObject(params) ? params : {}), _meta: { ...own, ...declared, ...metaOf(params) } }
  }
  return {
    request: (method, params, options) => peer.request(method, withMeta(params, options), options),
    requestRaw: (method, params, options) => peer.requestRaw(method, withMeta(params, options), options),
  }
}

/** The part of a caller's capabilities that a server may use through us. */
function forwardedCapabilities(capabilities: object): object {
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => Object.hasOwn(CLIENT_CAPABILITIES, name)),
  )
}
