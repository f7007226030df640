/** What a server said of itself when the conversation began. */
export interface Greeting {
  readonly era: 'legacy' | 'modern'
  readonly protocol_version: string
  readonly server_info: Readonly<Record<string, unknown>>
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly instructions: string | null
}

/** An answer to initialize that no MCP server would give. A person must look: trying again will not help. */
export class NotMcpError extends Error {
  override readonly name = 'NotMcpError'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}
