import { isObject } from '../../kernel/is-object.ts'
import type { TimedCallOptions } from '../../protocol/call.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import type { Requester } from './json-rpc-peer.ts'
import { CLIENT_CAPABILITIES } from './server-request-policy.ts'

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

/** The part of a caller's capabilities that a server may use through Toolroom. */
function forwardedCapabilities(capabilities: object): object {
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => Object.hasOwn(CLIENT_CAPABILITIES, name)),
  )
}
