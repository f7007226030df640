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
