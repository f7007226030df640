import type { Greeting } from '../../client/greeting.ts'
import type { Asker } from '../../client/modern-requests.ts'
import type { ToolList } from '../../client/tool-list.ts'

export type Transport = 'streamable_http' | 'sse'

/** One of the ways in which MCP goes over HTTP, and the dialogue that goes over it. */
export interface Carrier {
  readonly transport: Transport
  readonly asker: Asker
  /** Asks in exactly the words it is given. */
  readonly plain: Asker
  /** The handshake of the legacy era. */
  initialize(timeoutMs: number): Promise<Greeting>
  /** What a legacy server says unasked is heard from now on, if it offers that. Done when it is, or soon anyway. */
  listen(): Promise<void>
  knows(list: ToolList): void
  /** Ends whatever is open. Says goodbye within `timeoutMs` where that is the custom. Never rejects. */
  close(timeoutMs: number): Promise<void>
}

export interface CarrierEvents {
  /** What it offers may be something else than before, and it did not say so. */
  readonly onChanged: () => void
  readonly onNotification: (method: string, params: unknown) => void
  /** The conversation is over. */
  readonly onLost: (reason: string) => void
}

export const JSON_TYPE = { 'content-type': 'application/json' }
export const ACCEPT_BOTH = { accept: 'application/json, text/event-stream' }
export const ACCEPT_STREAM = { accept: 'text/event-stream', 'cache-control': 'no-cache' }
/** For what nobody waits for: notifications, and answers of ours. */
export const TELL_MS = 10_000
