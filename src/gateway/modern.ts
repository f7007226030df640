import type { IncomingHttpHeaders } from 'node:http'
import { CODES, type Incoming, isObject, RpcError } from './rpc.ts'

/** The revision without sessions: every request says what it needs to have said. */
export const MODERN = '2026-07-28'
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

const PREFIX = 'io.modelcontextprotocol/'
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Told by what the message says of itself, or by the header of who forgot that. */
export function isModern({ params }: Incoming, headers: IncomingHttpHeaders): boolean {
  const version = metaOf(params)[`${PREFIX}protocolVersion`]
  if (version !== undefined) return true
  const header = headers['mcp-protocol-version']
  return typeof header === 'string' && !LEGACY.some((known) => known === header) && header >= MODERN
}

/** Headers repeat what the body says, for who routes by them; so both must say the same. */
export function checkModern({ method = '', params }: Incoming, headers: IncomingHttpHeaders): void {
  const meta = metaOf(params)
  const version = meta[`${PREFIX}protocolVersion`]
  if (typeof version !== 'string')
    throw new RpcError(CODES.params, `_meta must hold ${PREFIX}protocolVersion`, { status: 400 })
  expectHeader(headers, 'mcp-protocol-version', version)
  if (version !== MODERN)
    throw new RpcError(CODES.version, `The protocol version ${version.slice(0, 40)} is not spoken here`, {
      status: 400,
      data: { supported: [MODERN, ...LEGACY], requested: version },
    })
  if (!isObject(meta[`${PREFIX}clientCapabilities`]))
    throw new RpcError(CODES.params, `_meta must hold ${PREFIX}clientCapabilities`, { status: 400 })
  expectHeader(headers, 'mcp-method', method)
  const field = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  if (field !== undefined) expectHeader(headers, 'mcp-name', String(params[field]))
}

function expectHeader(headers: IncomingHttpHeaders, name: string, value: string): void {
  const given = headers[name]
  if (typeof given === 'string' && decoded(given) === value) return
  const why = given === undefined ? 'is missing' : 'does not say what the body says'
  throw new RpcError(CODES.headers, `The header ${name} ${why}`, { status: 400 })
}

/** What a header cannot carry as it is comes as `=?base64?…?=`. */
function decoded(header: string): string {
  const text = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(header.trim())?.[1]
  return text === undefined ? header.trim() : Buffer.from(text, 'base64').toString('utf8')
}

export const metaOf = (params: Incoming['params']): Readonly<Record<string, unknown>> =>
  isObject(params._meta) ? params._meta : {}

/** A server of the old days does not say that its result is complete. */
export function completed(result: Buffer, value: unknown, method: string): Buffer {
  if (!isObject(value)) return result
  const missing = [
    ...(value.resultType === undefined ? ['"resultType":"complete"'] : []),
    ...(CACHED.includes(method) && value.ttlMs === undefined ? ['"ttlMs":0', '"cacheScope":"private"'] : []),
  ]
  if (missing.length === 0) return result
  const at = result.indexOf('{') + 1
  const text = missing.join(',') + (Object.keys(value).length === 0 ? '' : ',')
  return Buffer.concat([result.subarray(0, at), Buffer.from(text), result.subarray(at)])
}
const CACHED = ['prompts/list', 'resources/list', 'resources/templates/list', 'resources/read']

/** What one era says about itself means nothing to the other. */
export function withoutEra(params: Incoming['params']): Incoming['params'] {
  const kept = Object.entries(metaOf(params)).filter(([name]) => !name.startsWith(PREFIX))
  const { _meta: _, ...rest } = params
  return kept.length > 0 ? { ...rest, _meta: Object.fromEntries(kept) } : rest
}
