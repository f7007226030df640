import type { AppError } from '../../kernel/errors.ts'

/** A server, independent of how any agent writes it. */
export type Definition =
  | {
      readonly type: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string | null
    }
  | {
      readonly type: 'http' | 'sse'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
    }

export interface RegisteredServer {
  readonly id: string
  readonly name: string
  /** Or why no entry can be written for it. */
  readonly definition: Definition | AppError
  /** Toolroom runs it in a sandbox or a container. An agent that starts its command would run it with all rights of the user. */
  readonly isIsolated?: boolean
  /** Why it is off: a person has not allowed what it would get. No agent gets its references then. */
  readonly held?: AppError
  /** The package that it runs from, and the arguments of its program. */
  readonly package?: { readonly name: string; readonly args: readonly string[] }
}

/** The agent's file cannot express this. The message says what to do instead. */
export class NotSupported extends Error {
  override readonly name = 'NotSupported'
}
