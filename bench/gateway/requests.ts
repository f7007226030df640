/** An agent at the gateway. Its requests are prepared as text; load.mjs fills in `$ID` and `$SESSION`. */
export interface Agent {
  readonly host: string
  readonly key: string
}

const VERSION = '2025-11-25'
const MODERN = '2026-07-28'
const META = 'io.modelcontextprotocol'
const clientInfo = { name: 'bench', version: '1' }
const INITIALIZE = { protocolVersion: VERSION, capabilities: {}, clientInfo }
/** The value that replaces `$ID` is longer by this many bytes. */
const LONGER_ID = 1

/** A legacy call in an open session. */
export const legacyCall = (agent: Agent, session: string, name: string, args: object): string =>
  post(agent, message('tools/call', { name, arguments: args }), inSession(session))

export const legacyList = (agent: Agent, session: string): string =>
  post(agent, message('tools/list', {}), inSession(session))

export function modernCall(agent: Agent, name: string, args: object): string {
  const _meta = { [`${META}/protocolVersion`]: MODERN, [`${META}/clientCapabilities`]: {} }
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name }
  return post(agent, message('tools/call', { name, arguments: args, _meta }), headers)
}

/** Opens a session, lists the tools and ends the session: four requests. */
export function visit(agent: Agent): string[] {
  const headers = inSession('$SESSION')
  return [
    post(agent, message('initialize', INITIALIZE), {}),
    post(agent, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers),
    post(agent, message('tools/list', {}), headers),
    requestOf('DELETE', agent, headers, ''),
  ]
}

/** Opens a session and calls a tool. */
export const firstCall = (agent: Agent, name: string, args: object): string[] => [
  post(agent, message('initialize', INITIALIZE), {}),
  legacyCall(agent, '$SESSION', name, args),
]

/** For a server over stdio, or for `fetch`. */
export const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: '$ID', method, params })

export const initialize = { ...message('initialize', INITIALIZE), id: 1 }

export const headersOf = ({ key }: Agent): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${key}`,
})

const inSession = (session: string) => ({ 'mcp-session-id': session, 'mcp-protocol-version': VERSION })

const post = (agent: Agent, body: object, headers: Readonly<Record<string, string>>): string =>
  requestOf('POST', agent, headers, JSON.stringify(body))

function requestOf(
  method: string,
  agent: Agent,
  more: Readonly<Record<string, string>>,
  body: string,
): string {
  const length = Buffer.byteLength(body) + (body.includes('$ID') ? LONGER_ID : 0)
  const headers = { host: agent.host, ...headersOf(agent), ...more, 'content-length': String(length) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
