import { CallFailure } from '../protocol/call.ts'
import type { CallTool, RelayRequest } from '../upstreams/calls.ts'
import type { Heard, OtherLists } from '../upstreams/catalogues.ts'
import type { HttpServer } from './http-servers.schema.ts'
import type { ConnectionReport } from './report.schema.ts'

/** What this room needs to reach servers. `mcp/` provides it. */
export interface Remotes {
  open(server: HttpServer, known: Known | null, hearing: Hearing): Remote
  /** Never rejects, and takes 10 s at most. */
  probe(server: HttpServer): Promise<ConnectionReport>
}

/** What was found out the last time, so that it need not be found out again. */
export interface Known {
  readonly transport: 'streamable_http' | 'sse'
  readonly protocol_version: string
}

/** Who is told what a server says. */
export interface Hearing {
  readonly onTools: (heard: Heard) => void
  readonly onList: (kind: keyof OtherLists, items: OtherLists[typeof kind]) => void
  /** What it says for people. */
  readonly onSaid: (text: string) => void
  readonly onNote: (method: string, params: unknown) => void
  /** It has begun anew within the same connection, or may have. */
  readonly onAnew: () => void
  /** The connection is over, and not because it was closed. */
  readonly onLost: () => void
}

/** One server, spoken to over HTTP. Rejects with a finding, or as every call does. */
export interface Remote {
  /** Greeting and tools. */
  connect(timeoutMs: number): Promise<void>
  /** The tools again, which is also the question whether it is there. */
  refresh(timeoutMs: number): Promise<void>
  readonly call: CallTool
  readonly relay: RelayRequest
  close(): void
}

/** Why a server could not be reached, for the person who must act. */
export interface Finding {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  readonly retryAfterS?: number | undefined
}

export function findingOf(error: unknown): Finding {
  if (!(error instanceof Error)) return { code: 'error', message: String(error), hint: null }
  const { code, hint, retryAfterS } = error as Error & Partial<Finding>
  const word = typeof code === 'string' ? code : error instanceof CallFailure ? error.reason : 'error'
  return { code: word, message: error.message, hint: hint ?? null, retryAfterS }
}
