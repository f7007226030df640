import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure } from '../protocol/call-failure.ts'
import type { ClientProfile, Params } from '../protocol/call-options.ts'
import { metaOf } from '../protocol/json-rpc-message.ts'
import {
  CODES,
  type Era,
  LEGACY_SERVER_VERSIONS,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
} from '../protocol/mcp-constants.ts'
import type { Requester } from './json-rpc-peer.ts'
import { modernRequester } from './modern-requests.ts'
import { CLIENT_CAPABILITIES } from './server-requests.ts'

/** The server's description of itself. */
export interface HandshakeResult {
  readonly era: Era
  readonly protocol_version: string
  readonly server_info: Params
  readonly capabilities: Params
  readonly instructions: string | null
}

/** A response to the handshake that is not MCP. A retry does not help. */
export class NotMcpError extends Error {
  override readonly name = 'NotMcpError'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/**
 * `initialize`, the handshake of all revisions up to 2025-11-25. The caller sends `notifications/initialized`. `profile`:
 * the client that the server runs for alone; otherwise Toolroom is the client.
 */
export async function initialize(
  peer: Pick<Requester, 'request'>,
  version: string,
  timeoutMs: number,
  profile?: ClientProfile,
): Promise<HandshakeResult> {
  const params = {
    protocolVersion: profile?.protocolVersion ?? LEGACY_VERSIONS[0],
    capabilities: profile?.capabilities ?? CLIENT_CAPABILITIES,
    clientInfo: profile?.clientInfo ?? { name: 'toolroom', version },
  }
  const result = await peer.request('initialize', params, { timeoutMs })
  const { protocolVersion, serverInfo, capabilities, instructions } = isObject(result) ? result : {}
  if (typeof protocolVersion !== 'string' || !isObject(capabilities)) {
    const hint = 'Check that the command starts an MCP server that uses the stdio transport'
    throw new NotMcpError('Its response to initialize is not valid MCP', hint)
  }
  if (!LEGACY_SERVER_VERSIONS.includes(protocolVersion)) {
    const message = `It supports only MCP ${protocolVersion.slice(0, 32)}, which Toolroom does not support`
    throw new NotMcpError(message, 'Use another version of the server, or a newer Toolroom')
  }
  return handshakeResult('legacy', protocolVersion, serverInfo, capabilities, instructions)
}

/** `server/discover`, the handshake of the modern era. Rejects when the server does not support that era. */
export async function discover(
  peer: Requester,
  version: string,
  timeoutMs: number,
): Promise<HandshakeResult> {
  const deadline = performance.now() + timeoutMs
  const request = (ms: number) =>
    modernRequester(peer, version).request('server/discover', {}, { timeoutMs: Math.max(1, ms) })
  const result = await request(timeoutMs).catch((error: unknown) => {
    if (offersOurVersion(error)) return request(deadline - performance.now())
    throw error
  })
  const { supportedVersions, capabilities, instructions } = isObject(result) ? result : {}
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) {
    throw new Error('The server supports no modern protocol version that Toolroom supports')
  }
  const serverInfo = metaOf(result)[META.serverInfo]
  return handshakeResult('modern', MODERN_VERSION, serverInfo, capabilities, instructions)
}

/** Whether the server rejected the version and lists ours among those it supports. */
function offersOurVersion(error: unknown): boolean {
  const { code, data } = (error instanceof CallFailure && error.remote) || {}
  const supported = code === CODES.version && isObject(data) ? data.supported : undefined
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

function handshakeResult(
  era: Era,
  protocol_version: string,
  serverInfo: unknown,
  capabilities: unknown,
  instructions: unknown,
): HandshakeResult {
  return {
    era,
    protocol_version,
    server_info: isObject(serverInfo) ? serverInfo : {},
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}
