import type { IncomingHttpHeaders } from 'node:http'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { LEGACY_SERVER_VERSIONS, LEGACY_VERSIONS, MODERN_VERSION } from '../../protocol/versions.ts'
import { type Incoming, RpcError } from './json-rpc.ts'

/** Whether a request belongs to the modern era: detected from `_meta`, else from the header. */
export function isModern({ params }: Incoming, headers: IncomingHttpHeaders): boolean {
  if (params._meta !== undefined && metaOf(params)[META.protocolVersion] !== undefined) return true
  const header = headers['mcp-protocol-version']
  return (
    typeof header === 'string' &&
    !LEGACY_VERSIONS.some((known) => known === header) &&
    header >= MODERN_VERSION
  )
}

/** As servers with the official SDK do: any version they know is accepted, also when the session has another one. */
export function refuseUnknownVersion(header: string | string[] | undefined): void {
  if (header === undefined || LEGACY_SERVER_VERSIONS.includes(String(header))) return
  const known = LEGACY_SERVER_VERSIONS.join(', ')
  const message = `Bad Request: Unsupported protocol version: ${String(header).slice(0, 40)} (supported versions: ${known})`
  throw new RpcError(CODES.badRequest, message, { status: 400 })
}
