import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import { CODES, type Incoming, RpcError } from './json-rpc.ts'

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

/** What an agent of the modern era says it can be asked. */
export function capabilitiesIn(params: Incoming['params']): Readonly<Record<string, unknown>> {
  const said = metaOf(params)[`${PREFIX}clientCapabilities`]
  return isObject(said) ? said : {}
}

/** A server of the old days does not say that its result is complete. */
export function completed(result: CallResult, method: string): Buffer {
  const { json } = result
  const lacks = (name: string) => !json.includes(`"${name}"`) || !isIn(result.value, name)
  const missing = [
    ...(lacks('resultType') ? ['"resultType":"complete"'] : []),
    ...(CACHED.includes(method) && lacks('ttlMs') ? ['"ttlMs":0', '"cacheScope":"private"'] : []),
  ]
  if (missing.length === 0 || json[0] !== OPEN_BRACE) return json
  const rest = json.subarray(1)
  const isEmpty = rest.length < SHORT && /^\s*\}$/.test(rest.toString('latin1'))
  return Buffer.concat([Buffer.from(`{${missing.join(',')}${isEmpty ? '' : ','}`), rest])
}
const OPEN_BRACE = 0x7b
const SHORT = 64
const isIn = (value: unknown, name: string): boolean => isObject(value) && value[name] !== undefined
const CACHED = ['prompts/list', 'resources/list', 'resources/templates/list', 'resources/read']

/** What one era says about itself means nothing to the other. */
export function withoutEra(params: Incoming['params']): Incoming['params'] {
  const kept = Object.entries(metaOf(params)).filter(([name]) => !name.startsWith(PREFIX))
  const { _meta: _, ...rest } = params
  return kept.length > 0 ? { ...rest, _meta: Object.fromEntries(kept) } : rest
}
