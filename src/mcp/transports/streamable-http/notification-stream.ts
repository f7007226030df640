import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpResponse } from '../../../net/http-response.ts'
import { type SseEvent, SseReader } from '../../../protocol/sse-reader.ts'
import { hearEvents, isEventStream } from '../http/response-messages.ts'

interface Options {
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<HttpResponse>
  readonly hear: (event: SseEvent) => void
  /** For a while nobody listened, and the server does not repeat what it said then. */
  readonly onGap: () => void
}

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

/** What a legacy server says without being asked. It need not offer this; where it does, the stream is held open. */
export class StandingStream {
  readonly #end = new AbortController()
  /** The first answer has come, whatever it was. */
  readonly answered: Promise<void>
  #answer = () => {}

  constructor(options: Options) {
    this.answered = new Promise((resolve) => {
      this.#answer = resolve
    })
    void this.#run(options, this.#end.signal).catch(() => {}) // it was closed while it waited
  }

  close(): void {
    this.#end.abort()
  }

  async #run({ open, hear, onGap }: Options, signal: AbortSignal): Promise<void> {
    let lastEventId: string | undefined
    let waitMs = FIRST_WAIT_MS
    for (;;) {
      const startedAt = performance.now()
      const reader = new SseReader(hear)
      const offered = await open(lastEventId, signal)
        .finally(this.#answer)
        .then((answer) => this.#hear(answer, reader))
        .catch(() => true) // it broke off, or could not be opened: the requests tell whether the server is gone
      if (!offered || signal.aborted) return
      lastEventId = reader.lastEventId ?? lastEventId
      const lastedMs = performance.now() - startedAt
      waitMs = lastedMs > LONGEST_WAIT_MS ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS)
      await sleep(Math.max(waitMs, Math.min(reader.retryMs ?? 0, LONGEST_WAIT_MS)), undefined, { signal })
      if (lastEventId === undefined) onGap()
    }
  }

  /** False when the server has no such stream: 405, and whatever else servers say then. */
  async #hear(answer: HttpResponse, reader: SseReader): Promise<boolean> {
    const { status } = answer
    if (status >= 200 && status < 300 && isEventStream(answer)) {
      await hearEvents(answer, reader)
      return true
    }
    answer.discard()
    return status >= 500 || status === 409 || status === 429
  }
}
