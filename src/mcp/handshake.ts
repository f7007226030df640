import type { Peer } from './peer.ts'

const PROTOCOL_VERSION = '2025-11-25'
const KNOWN_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']

export interface Greeting {
  readonly protocol_version: string
  readonly server_info: Readonly<Record<string, unknown>>
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly instructions: string | null
}

/** An answer to initialize that no MCP server would give. A person must look: trying again will not help. */
export class NotMcpError extends Error {
  override readonly name = 'NotMcpError'
}

/** The legacy handshake, which every stdio server still understands. */
export async function greet(peer: Peer, version: string, timeoutMs: number): Promise<Greeting> {
  const clientInfo = { name: 'toolroom', version }
  const params = { protocolVersion: PROTOCOL_VERSION, capabilities: { roots: {} }, clientInfo }
  const greeting = greetingOf(await peer.request('initialize', params, { timeoutMs }))
  peer.notify('notifications/initialized')
  return greeting
}

function greetingOf(result: unknown): Greeting {
  const { protocolVersion, serverInfo, capabilities, instructions } = (
    isObject(result) ? result : {}
  ) as Record<string, unknown>
  if (typeof protocolVersion !== 'string' || !isObject(capabilities)) {
    throw new NotMcpError('It answered initialize, but not as an MCP server does')
  }
  if (!KNOWN_VERSIONS.includes(protocolVersion)) {
    throw new NotMcpError(`It speaks only MCP ${protocolVersion.slice(0, 32)}, which Toolroom does not know`)
  }
  return {
    protocol_version: protocolVersion,
    server_info: isObject(serverInfo) ? serverInfo : {},
    capabilities,
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}

export interface ToolList {
  /** As the server sent them, unknown fields included. */
  readonly tools: readonly Readonly<Record<string, unknown>>[]
  /** There were more tools or pages than we take. */
  readonly truncated: boolean
}

const MAX_TOOLS = 5000
const MAX_PAGES = 100

/** Every page of the list, within one deadline. A cursor that comes again, or never ends, is cut. */
export async function listTools(peer: Peer, timeoutMs: number): Promise<ToolList> {
  const deadline = performance.now() + timeoutMs
  const tools: Readonly<Record<string, unknown>>[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const left = Math.max(1, deadline - performance.now())
    const result = await peer.request('tools/list', cursor === undefined ? {} : { cursor }, {
      timeoutMs: left,
    })
    const { tools: more, nextCursor } = (isObject(result) ? result : {}) as Record<string, unknown>
    if (Array.isArray(more))
      tools.push(...more.filter((tool) => isObject(tool) && typeof tool.name === 'string'))
    if (tools.length > MAX_TOOLS) return { tools: tools.slice(0, MAX_TOOLS), truncated: true }
    if (typeof nextCursor !== 'string') return { tools, truncated: false } // an empty string is a cursor
    if (seen.has(nextCursor)) return { tools, truncated: true }
    seen.add(nextCursor)
    cursor = nextCursor
  }
  return { tools, truncated: true }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
