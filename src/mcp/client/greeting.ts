import type { Params } from '../../protocol/call.ts'
import type { Era } from '../../protocol/versions.ts'

/** What a server said about itself in the handshake. */
export interface Greeting {
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
