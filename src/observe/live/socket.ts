/** A WebSocket connection. Implemented in `api/http/websocket.ts`. */
export interface LiveSocket {
  send(text: string): void
  /** Bytes that are still buffered in this process. */
  readonly unsentBytes: number
  close(code: number, reason: string): void
  /** Receives null for a message that is not text. */
  onMessage(listener: (text: string | null) => void): void
  onClose(listener: () => void): void
}

/** WebSocket close codes (RFC 6455 and its registry). */
export const CLOSE = { goingAway: 1001, notText: 1003, tooMany: 1008, tryAgainLater: 1013 } as const
