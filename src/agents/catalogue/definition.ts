/** A server as any agent could be told of it. */
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

/** Something that this agent has no place for. The message says what to do instead. */
export class NotSupported extends Error {
  override readonly name = 'NotSupported'
}
