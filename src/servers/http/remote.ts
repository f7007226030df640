import { CallFailure, type CallResult, type TimedCallOptions } from '../../mcp/protocol/call.ts'
import type { Definition, ListKind } from '../../mcp/protocol/lists.ts'
import type { Authorizer } from '../../net/authorizer.ts'
import type { DiscoveredServer } from '../shared/catalogues.ts'
import type { HttpServer } from './http-servers.schema.ts'
import type { ConnectionReport } from './report.schema.ts'

/** Opens and tests connections to servers. `mcp/` provides it. */
export interface Remotes {
  open(
    server: HttpServer,
    options: { readonly known: Known | null; readonly authorizer: Authorizer | undefined },
    events: RemoteEvents,
  ): Remote
  /** Tests the connection step by step. Never rejects, and takes at most 10 s. */
  test(server: HttpServer, authorizer: Authorizer | undefined): Promise<ConnectionReport>
}

/** Transport and protocol version of the last connection, which are tried first. */
export interface Known {
  readonly transport: 'streamable_http' | 'sse'
  readonly protocol_version: string
}

export interface RemoteEvents {
  readonly onDiscovered: (server: DiscoveredServer) => void
  readonly onList: (kind: ListKind, items: readonly Definition[]) => void
  /** The text of a log notification. */
  readonly onLogText: (text: string) => void
  readonly onNotification: (method: string, params: unknown) => void
  /** The server may have lost its state within the same connection. */
  readonly onReset: () => void
  /** The connection has ended, and not by `close`. */
  readonly onLost: () => void
}

/** The MCP client of one HTTP server. */
export interface Remote {
  /** Why the tools could not be listed although the server is connected. */
  readonly listError: Error | undefined
  /** Performs the handshake and lists the tools. */
  connect(timeoutMs: number): Promise<void>
  /** Lists the tools again, which shows whether the server is reachable. */
  refresh(timeoutMs: number): Promise<void>
  call(tool: string, args: unknown, options: TimedCallOptions): Promise<CallResult>
  relay(method: string, params: unknown, options: TimedCallOptions): Promise<CallResult>
  close(): Promise<void>
}

/** Why a server could not be reached. */
export interface ConnectionFailure {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  readonly retryAfterS?: number | undefined
}

export function failureOf(error: unknown): ConnectionFailure {
  if (!(error instanceof Error)) return { code: 'error', message: String(error), hint: null }
  const { code, hint, retryAfterS } = error as Error & Partial<ConnectionFailure>
  const known = typeof code === 'string' ? code : error instanceof CallFailure ? error.reason : 'error'
  return { code: known, message: error.message, hint: hint ?? null, retryAfterS }
}
