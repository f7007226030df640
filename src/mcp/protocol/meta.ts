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
