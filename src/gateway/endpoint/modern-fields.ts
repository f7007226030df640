import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../kernel/json/json-checks.ts'
import type { CallResult, Params } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import {
  CODES,
  LEGACY_VERSIONS,
  META,
  META_PREFIX,
  MODERN_VERSION,
} from '../../mcp/protocol/mcp-constants.ts'
import { nameParamOf } from '../../mcp/protocol/mcp-headers.ts'
import { memberOf, plainOf, type RawJson, withMembers, withMeta } from '../../mcp/protocol/raw-json.ts'
import type { Incoming } from '../messages/incoming-message.ts'
import { RpcError } from '../messages/rpc-error.ts'
import type { AgentScope } from '../sessions/sessions.ts'

/** Throws when `_meta` is incomplete, or when the headers contradict the body. */
export function validateModern({ method = '', params }: Incoming, headers: IncomingHttpHeaders): void {
  const meta = metaOf(params)
  const version = meta[META.protocolVersion]
  if (typeof version !== 'string')
    throw new RpcError(CODES.params, `Missing ${META.protocolVersion} in _meta`, { status: 400 })
  expectHeader(headers, 'mcp-protocol-version', version)
  if (version !== MODERN_VERSION)
    throw new RpcError(CODES.version, `Protocol version ${version.slice(0, 40)} is not supported`, {
      status: 400,
      data: { supported: [MODERN_VERSION, ...LEGACY_VERSIONS], requested: version },
    })
  if (!isObject(meta[META.clientCapabilities]))
    throw new RpcError(CODES.params, `Missing ${META.clientCapabilities} in _meta`, { status: 400 })
  expectHeader(headers, 'mcp-method', method)
  const field = nameParamOf(method)
  if (field !== undefined) expectHeader(headers, 'mcp-name', String(params[field]))
}

function expectHeader(headers: IncomingHttpHeaders, name: string, value: string): void {
  const given = headers[name]
  if (given === value && !value.startsWith(ENCODED)) return // most values need no decoding
  if (typeof given === 'string' && decoded(given) === value) return
  const message = given === undefined ? `Missing ${name} header` : `The ${name} header differs from the body`
  throw new RpcError(CODES.headers, message, { status: 400 })
}

const ENCODED = '=?'

/** A value that is not valid in a header is encoded as `=?base64?…?=`. */
function decoded(header: string): string {
  const text = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(header.trim())?.[1]
  return text === undefined ? header.trim() : Buffer.from(text, 'base64').toString('utf8')
}

/** The client capabilities in a modern request. */
export function capabilitiesIn(params: Params): Params {
  const declared = metaOf(params)[META.clientCapabilities]
  return isObject(declared) ? declared : {}
}

/**
 * The params of a modern request as a modern server gets them. At `/mcp` they are without the tasks extension, because a task
 * could not be followed there: the server then answers with the result itself.
 */
export function modernParamsOf(params: RawJson, { serverId }: AgentScope): unknown {
  if (serverId !== undefined || !isObject(params.value)) return params
  const capabilities = capabilitiesIn(params.value)
  const { extensions } = capabilities
  if (!isObject(extensions) || extensions[TASKS] === undefined) return params
  const { [TASKS]: _, ...others } = extensions
  return withMeta(params, { [META.clientCapabilities]: { ...capabilities, extensions: others } })
}
const TASKS = `${META_PREFIX}tasks`

/** Adds the fields that modern results have and results of legacy servers lack. */
export function completed(result: CallResult, method: string): Buffer {
  const { bytes: json } = result
  const lacks = (name: string) => !result.includes(`"${name}"`) || memberOf(result.raw, name) === undefined
  const missing = [
    ...(lacks('resultType') ? ['"resultType":"complete"'] : []),
    ...(CACHED.includes(method) && lacks('ttlMs') ? ['"ttlMs":0', '"cacheScope":"private"'] : []),
  ]
  if (missing.length === 0 || json[0] !== OPEN_BRACE) return json
  let first = 1
  while (SPACES.includes(json[first] ?? 0)) first += 1
  const head = `{${missing.join(',')}${json[first] === CLOSE_BRACE ? '' : ','}`
  const all = Buffer.allocUnsafe(head.length + json.length - 1)
  all.write(head)
  json.copy(all, head.length, 1)
  return all
}
const SPACES = [0x20, 0x0a, 0x0d, 0x09]
const CLOSE_BRACE = 0x7d
const OPEN_BRACE = 0x7b
const CACHED = ['prompts/list', 'resources/list', 'resources/templates/list', 'resources/read']

/** The params without the `_meta` keys of the modern era. All other bytes stay. */
export function withoutModernMeta(params: RawJson): unknown {
  const given = memberOf(params, '_meta')
  const kept = withoutModernKeys(given)
  return kept === given ? params : withMembers(params, { _meta: kept })
}

/** `_meta` without the keys of the modern era. Undefined when nothing is left. */
export function withoutModernKeys(meta: unknown): unknown {
  const names = Object.keys(objectOr(plainOf(meta)))
  const removed = names.filter((name) => name.startsWith(META_PREFIX))
  if (removed.length === names.length) return undefined
  if (removed.length === 0) return meta
  return withMembers(meta, Object.fromEntries(removed.map((name) => [name, undefined])))
}

const objectOr = (value: unknown): object => (isObject(value) ? value : {})
