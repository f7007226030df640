import { isObject } from '../../kernel/is-object.ts'
import { LEGACY_SERVER_VERSIONS, LEGACY_VERSIONS } from '../../protocol/versions.ts'
import { type Greeting, NotMcpError } from './greeting.ts'
import type { JsonRpcPeer } from './json-rpc-peer.ts'
import { CLIENT_CAPABILITIES } from './server-requests.ts'

/** `initialize`, the handshake of all revisions up to 2025-11-25. The caller sends `notifications/initialized`. */
export async function initialize(
  peer: Pick<JsonRpcPeer, 'request'>,
  version: string,
  timeoutMs: number,
): Promise<Greeting> {
  const params = {
    protocolVersion: LEGACY_VERSIONS[0],
    capabilities: CLIENT_CAPABILITIES,
    clientInfo: { name: 'toolroom', version },
  }
  return greetingOf(await peer.request('initialize', params, { timeoutMs }))
}

function greetingOf(result: unknown): Greeting {
  const { protocolVersion, serverInfo, capabilities, instructions } = isObject(result) ? result : {}
  if (typeof protocolVersion !== 'string' || !isObject(capabilities)) {
    const hint = 'Check that the command starts an MCP server that uses the stdio transport'
    throw new NotMcpError('Its response to initialize is not valid MCP', hint)
  }
  if (!LEGACY_SERVER_VERSIONS.includes(protocolVersion)) {
    const message = `It supports only MCP ${protocolVersion.slice(0, 32)}, which Toolroom does not support`
    throw new NotMcpError(message, 'Use another version of the server, or a newer Toolroom')
  }
  return {
    era: 'legacy',
    protocol_version: protocolVersion,
    server_info: isObject(serverInfo) ? serverInfo : {},
    capabilities,
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}
