import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../kernel/json/json-checks.ts'
import { MESSAGE_MAX_BYTES } from '../../mcp/protocol/line-splitter.ts'
import { SseReader } from '../../mcp/protocol/sse-reader.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { parsed, type Session, sessionHeaders } from './bridge-message.ts'
import { type Link, nextWait } from './gateway-link.ts'

export type OnMessage = (message: Readonly<Record<string, unknown>>, bytes: Buffer) => void

interface Deps {
  readonly link: Link
  readonly session: Session
  readonly onMessage: OnMessage
  /** The stream was interrupted, and messages may have been missed. */
  readonly onGap: () => void
  /** The session has ended, for example after a restart. Its successor opens a new stream. Rejects to be retried. */
  readonly onExpired: () => Promise<unknown>
  readonly onKeyRefused: () => void
}

const LONGEST_RETRY_MS = 60_000
/** A server's message of 10 MiB, plus what the gateway adds around it. */
export const MAX_BYTES = MESSAGE_MAX_BYTES + 64 * 1024

/** A legacy session's GET stream, for messages that are not responses. It is reopened whenever it ends. */
export class SessionStream {
  readonly #deps: Deps
  readonly #end = new AbortController()
  #lastEventId: string | undefined
  #retryMs = 0
  #hadStream = false

  constructor(deps: Deps) {
    this.#deps = deps
    void this.#run().catch(() => {}) // closed while waiting
  }

  close(): void {
    this.#end.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#end
    for (let waitMs = 0; ; ) {
      const startedAt = performance.now()
      const isRetried = await this.#listen(signal).catch(() => true) // the connection broke
      if (!isRetried || signal.aborted) return
      const lastedMs = performance.now() - startedAt
      waitMs = nextWait(lastedMs > LONGEST_RETRY_MS ? 0 : waitMs)
      await sleep(Math.max(waitMs, Math.min(this.#retryMs, LONGEST_RETRY_MS)), undefined, { signal })
    }
  }

  /** False if the stream must not be reopened. */
  async #listen(signal: AbortSignal): Promise<boolean> {
    const { link, session, onMessage, onGap, onExpired, onKeyRefused } = this.#deps
    const since = this.#lastEventId
    const response = await link.send({
      method: 'GET',
      headers: {
        accept: 'text/event-stream',
        ...sessionHeaders(session),
        ...(since !== undefined && { 'last-event-id': since }),
      },
      signal,
      until: Number.POSITIVE_INFINITY,
    })
    const { status } = response
    if (status !== 200 || !isEventStream(response)) {
      response.discard()
      if (status === 401) onKeyRefused()
      if (status === 404) await onExpired()
      return status >= 500 || status === 429
    }
    if (this.#hadStream && since === undefined) onGap()
    this.#hadStream = true
    const reader = streamReader(onMessage)
    try {
      await readStream(response, reader)
    } finally {
      this.#lastEventId = reader.lastEventId ?? this.#lastEventId
      this.#retryMs = reader.retryMs ?? this.#retryMs
    }
    return true
  }
}

export const isEventStream = ({ contentType }: HttpResponse): boolean => contentType === 'text/event-stream'

export const streamReader = (onMessage: OnMessage): SseReader =>
  new SseReader(({ event, data }) => {
    const value = event === 'message' ? parsed(data) : undefined
    if (isObject(value)) onMessage(value, data)
  }, MAX_BYTES)

export async function readStream(response: HttpResponse, reader: SseReader): Promise<void> {
  for await (const chunk of response.chunks()) reader.push(chunk)
}
