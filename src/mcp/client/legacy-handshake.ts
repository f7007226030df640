import { isObject } from '../../kernel/is-object.ts'
import { type Greeting, NotMcpError } from './greeting.ts'
import type { Dialogue } from './json-rpc-peer.ts'

const PROTOCOL_VERSION = '2025-11-25'
const KNOWN_VERSIONS = [PROTOCOL_VERSION, '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']

/** The handshake of all revisions up to 2025-11-25. */
export async function initialize(
  peer: Pick<Dialogue, 'request' | 'notify'>,
  version: string,
  timeoutMs: number,
  capabilities: object = {}, // no roots: we have none
): Promise<Greeting> {
  const clientInfo = { name: 'toolroom', version }
  const params = { protocolVersion: PROTOCOL_VERSION, capabilities, clientInfo }
  const greeting = greetingOf(await peer.request('initialize', params, { timeoutMs }))
  peer.notify('notifications/initialized')
  return greeting
}

function greetingOf(result: unknown): Greeting {
  const { protocolVersion, serverInfo, capabilities, instructions } = isObject(result) ? result : {}
  if (typeof protocolVersion !== 'string' || !isObject(capabilities)) {
    const hint = 'Check that the command starts an MCP server that speaks over stdio'
    throw new NotMcpError('It answered initialize, but not as an MCP server does', hint)
  }
  if (!KNOWN_VERSIONS.includes(protocolVersion)) {
    const message = `It speaks only MCP ${protocolVersion.slice(0, 32)}, which Toolroom does not know`
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
