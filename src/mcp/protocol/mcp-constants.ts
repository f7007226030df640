import { isObject } from '../../kernel/json/json-checks.ts'

/** The two families of MCP revisions: legacy ones have a handshake and sessions, modern ones are stateless. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'

/** The legacy revisions that the gateway offers to clients, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

/** The revisions that a legacy server may answer with. */
export const LEGACY_SERVER_VERSIONS: readonly string[] = [...LEGACY_VERSIONS, '2024-10-07']

/** JSON-RPC error codes: those of JSON-RPC, those that MCP adds, and Toolroom's own outside the reserved range. */
export const CODES = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  /** The code of the official SDK for a request that its transport refuses. */
  badRequest: -32_000,
  /** A resource that does not exist, in the legacy revisions. */
  resourceNotFound: -32_002,
  headers: -32_020,
  missingCapability: -32_021,
  version: -32_022,
  /** Toolroom's own: the request has no valid gateway key. */
  noKey: -31_401,
  /** Toolroom's own: one agent has too many streams. */
  tooMany: -31_429,
  /** Toolroom's own: the client cancelled the request. */
  cancelled: -31_499,
} as const

/** The prefix of all keys that MCP defines for `_meta`. */
export const META_PREFIX = 'io.modelcontextprotocol/'

/** The keys of `_meta` that MCP defines. */
export const META = {
  protocolVersion: `${META_PREFIX}protocolVersion`,
  clientCapabilities: `${META_PREFIX}clientCapabilities`,
  clientInfo: `${META_PREFIX}clientInfo`,
  serverInfo: `${META_PREFIX}serverInfo`,
  logLevel: `${META_PREFIX}logLevel`,
  subscriptionId: `${META_PREFIX}subscriptionId`,
} as const

/** MCP Apps: an extension with which a tool names a page, a `ui://` resource that hosts show beside its results. */
export const UI = `${META_PREFIX}ui`

/** What a client declares that shows pages. */
export const SHOWS_PAGES = { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] } }

type Members = Readonly<Record<string, unknown>>

/** The `extensions` of a client or a server, reduced to MCP Apps. Undefined when it does not declare them. */
export function uiIn({ extensions }: Members): Members | undefined {
  return isObject(extensions) && extensions[UI] !== undefined ? { [UI]: extensions[UI] } : undefined
}
