/** The two families of MCP revisions: legacy ones have a handshake and sessions, modern ones are stateless. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'

/** The legacy revisions that the gateway offers to clients, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

/** The revisions that a legacy server may answer with. */
export const LEGACY_SERVER_VERSIONS: readonly string[] = [...LEGACY_VERSIONS, '2024-10-07']
