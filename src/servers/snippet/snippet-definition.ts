/** A server in our own words, as the API takes it. */
export type Definition = StdioDefinition | HttpDefinition

export interface StdioDefinition {
  readonly type: 'stdio'
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
  readonly cwd?: string
}

export interface HttpDefinition {
  readonly type: 'http'
  readonly url: string
  readonly transport: 'auto' | 'streamable_http' | 'sse'
  readonly headers: Record<string, string>
}

/** The pattern that the API checks again: no user info, no white space. */
export const HTTP_URL = /^https?:\/\/[^/?#@\s]+(?:[/?#]\S*)?$/
