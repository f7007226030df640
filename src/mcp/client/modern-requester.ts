import { memo } from '../../kernel/memo.ts'
import { SHOWS_PAGES, uiIn } from '../protocol/apps.ts'
import type { Params, TimedCallOptions } from '../protocol/call.ts'
import { metaOf } from '../protocol/json-rpc-message.ts'
import { META } from '../protocol/meta.ts'
import { plainOf, withMeta } from '../protocol/raw/raw-json.ts'
import { MODERN_VERSION } from '../protocol/versions.ts'
import type { Requester } from './json-rpc-peer.ts'
import { CLIENT_CAPABILITIES } from './server-request-policy.ts'

/** Adds the `_meta` that the modern era requires to every request. Keys that the caller has set stay. */
export function modernRequester(peer: Requester, version: string): Requester {
  const own = {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientCapabilities]: { extensions: SHOWS_PAGES },
    [META.clientInfo]: { name: 'toolroom', version },
  }
  const asModern = (params: unknown, { capabilities }: TimedCallOptions) => {
    const declared = capabilities && { [META.clientCapabilities]: forwardedCapabilities(capabilities) }
    const given = metaOf(plainOf(params))
    const missing = Object.entries({ ...own, ...declared }).filter(([name]) => !Object.hasOwn(given, name))
    return withMeta(params, Object.fromEntries(missing))
  }
  return {
    request: (method, params, options) => peer.request(method, asModern(params, options), options),
    requestRaw: (method, params, options) => peer.requestRaw(method, asModern(params, options), options),
  }
}

/** The part of a caller's capabilities that a server may use through Toolroom. */
const forwardedCapabilities = memo((capabilities: Params): object => {
  const { extensions: _, ...others } = capabilities
  const extensions = uiIn(capabilities)
  const kept = Object.entries(others).filter(([name]) => Object.hasOwn(CLIENT_CAPABILITIES, name))
  return { ...Object.fromEntries(kept), ...(extensions && { extensions }) }
})
