import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpResponse } from '../../../net/http-response.ts'
import { type SseEvent, SseReader } from '../../protocol/sse-reader.ts'
import { isEventStream, receiveEvents } from '../http/message-poster.ts'

interface Options {
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<HttpResponse>
  readonly onEvent: (event: SseEvent) => void
  /** The stream was interrupted, and the server cannot replay what was missed. */
  readonly onGap: () => void
}

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

/** The GET stream of a legacy server for notifications, which is optional. It is reopened whenever it ends. */
export class NotificationStream {
  readonly #end = new AbortController()
  /** Resolves when the first request has been answered, whatever the answer. */
  readonly answered: Promise<void>
  #onAnswer = () => {}

  constructor(options: Options) {
    this.answered = new Promise((resolve) => {
      this.#onAnswer = resolve
    })
    void this.#run(options, this.#end.signal).catch(() => {}) // closed while waiting
  }

  close(): void {
    this.#end.abort()
  }

  async #run({ open, onEvent, onGap }: Options, signal: AbortSignal): Promise<void> {
    let lastEventId: string | undefined
    let waitMs = FIRST_WAIT_MS
    for (;;) {
      const startedAt = performance.now()
      const reader = new SseReader(onEvent)
      const isSupported = await open(lastEventId, signal)
        .finally(this.#onAnswer)
        .then((response) => receive(response, reader))
        .catch(() => true) // interrupted or not reachable: other requests show whether the server is down
      if (!isSupported || signal.aborted) return
      lastEventId = reader.lastEventId ?? lastEventId
      const lastedMs = performance.now() - startedAt
      waitMs = lastedMs > LONGEST_WAIT_MS ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS)
      await sleep(Math.max(waitMs, Math.min(reader.retryMs ?? 0, LONGEST_WAIT_MS)), undefined, { signal })
      if (lastEventId === undefined) onGap()
    }
  }
}

/** False when the server has no such stream: it answers 405, or another client error. */
async function receive(response: HttpResponse, reader: SseReader): Promise<boolean> {
  const { status } = response
  if (status >= 200 && status < 300 && isEventStream(response)) {
    await receiveEvents(response, reader)
    return true
  }
  response.discard()
  return status >= 500 || status === 409 || status === 429
}
