import { headerText, nameParamOf } from '../../mcp/protocol/mcp-headers.ts'
import type { Message } from './message.ts'

/** A legacy agent's session. */
export interface Session {
  readonly id: string
  /** Empty if the response to `initialize` did not contain one. */
  readonly version: string
}

/** The MCP headers for a message: from its own content if it is modern, from its session otherwise. */
export function headersOf(message: Message, session: Session | undefined): Record<string, string> {
  const { modern, method = '', params } = message
  const always = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  if (modern === undefined)
    return { ...always, ...(session && method !== 'initialize' && sessionHeaders(session)) }
  const name = params[nameParamOf(method) ?? '']
  return {
    ...always,
    'mcp-protocol-version': headerText(modern),
    'mcp-method': headerText(method),
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  }
}

export const sessionHeaders = ({ id, version }: Session): Record<string, string> => ({
  'mcp-session-id': id,
  ...(version !== '' && { 'mcp-protocol-version': headerText(version) }),
})
