import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import type { HttpClient } from '../../net/http-client.ts'
import type { HandshakeResult } from './handshake.ts'
import type { JsonRpcPeer, PeerEvents } from './json-rpc-peer.ts'
import type { ToolList } from './server-lists.ts'

export type HttpTransportKind = 'streamable_http' | 'sse'

/** One way to exchange MCP messages with a server. */
export interface Transport {
  readonly kind: 'stdio' | HttpTransportKind
  readonly peer: JsonRpcPeer
  /**
   * Opens the stream for notifications of a legacy server, if the server has one. Resolves when it is open, or soon after.
   * Undefined when notifications need no stream of their own.
   */
  readonly listen?: () => Promise<void>
  /** Called with every tool list, for transports that copy arguments into headers. */
  readonly onTools?: (list: ToolList) => void
  /** Closes everything, and ends the session within `timeoutMs` where there is one. Never rejects. */
  close(timeoutMs: number): Promise<void>
}

export interface TransportEvents extends PeerEvents {
  /** The server may have lost its state, or notifications may have been missed. */
  readonly onReset: () => void
  /** The connection has ended. */
  readonly onLost: (reason: string) => void
}

/** What both HTTP transports need. */
export interface HttpTransportOptions extends TransportEvents {
  readonly client: HttpClient
  readonly url: URL
  /** Toolroom's version, for the handshake. */
  readonly version: string
  /** Masked in quoted texts of the server. */
  readonly secrets: KnownSecrets
}

/** An open transport, after the handshake. */
export interface Connected {
  readonly transport: Transport
  readonly handshake: HandshakeResult
}
