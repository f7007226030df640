import type { ServerInput } from '../../../servers/stdio/servers.schema.ts'

/** A server as the API accepts it. */
export type Definition = StdioDefinition | HttpDefinition

export interface StdioDefinition extends Pick<ServerInput, 'isolation' | 'isolation_options'> {
  readonly type: 'stdio'
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
  readonly cwd?: string
  /** An installed package, of which the command is a program. */
  readonly package?: string
}

export interface HttpDefinition {
  readonly type: 'http'
  readonly url: string
  readonly transport: 'auto' | 'streamable_http' | 'sse'
  readonly headers: Record<string, string>
}

/** Without user info and white space. The API checks it again. */
export const HTTP_URL = /^https?:\/\/[^/?#@\s]+(?:[/?#]\S*)?$/
