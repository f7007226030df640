/** A connection as this room sees it. The door provides it. */
export interface LiveSocket {
  send(text: string): void
  /** Bytes that were sent and have not left this process. */
  readonly unsentBytes: number
  close(code: number, reason: string): void
  /** Text that came in; null for anything that is no text. */
  onMessage(listener: (text: string | null) => void): void
  onClose(listener: () => void): void
}

/** Codes of RFC 6455 and its registry. */
export const CLOSE = { goingAway: 1001, notText: 1003, tooMany: 1008, tryAgainLater: 1013 } as const
