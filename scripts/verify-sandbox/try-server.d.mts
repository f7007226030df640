import type { SandboxedServer } from './servers.mjs'

export function tryServer(
  request: (method: string, path: string, body?: object) => Promise<unknown>,
  home: string,
  server: SandboxedServer,
): Promise<{
  readonly tools: number
  readonly write: readonly string[]
  readonly read: readonly string[]
  readonly network: string
  readonly calls: readonly { readonly tool: string; readonly isolated: string }[]
  readonly refused: readonly { readonly kind: string; readonly path: string | null }[]
  readonly failures: readonly string[]
}>
