import { setTimeout as sleep } from 'node:timers/promises'
import { type Session, sessionHeaders } from './headers.ts'
import { type Hear, hearStream, isEventStream, readerFor } from './hear.ts'
import { type Link, nextWait } from './link.ts'

interface Deps {
  readonly link: Link
  readonly session: Session
  readonly hear: Hear
  /** For a while nobody listened, and what was said then is not said again. */
  readonly onGap: () => void
  /** The session is over, as after a restart. A new one has a stream of its own. Throws when that is to be tried again. */
  readonly onOver: () => Promise<unknown>
  readonly onNoKey: () => void
}

const LONGEST_RETRY_MS = 60_000

/** What servers say without being asked, to a legacy agent: over a GET that is opened again whenever it ends. */
export class Standing {
  readonly #deps: Deps
  readonly #end = new AbortController()
  #lastEventId: string | undefined
  #retryMs = 0
  #hadStream = false

  constructor(deps: Deps) {
    this.#deps = deps
    void this.#run().catch(() => {}) // it was closed while it waited
  }

  close(): void {
    this.#end.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#end
    for (let waitMs = 0; ; ) {
      const startedAt = performance.now()
      const goesOn = await this.#listen(signal).catch(() => true) // it broke off
      if (!goesOn || signal.aborted) return
      const lastedMs = performance.now() - startedAt
      waitMs = nextWait(lastedMs > LONGEST_RETRY_MS ? 0 : waitMs)
      await sleep(Math.max(waitMs, Math.min(this.#retryMs, LONGEST_RETRY_MS)), undefined, { signal })
    }
  }

  /** False when there is nothing more to hear. */
  async #listen(signal: AbortSignal): Promise<boolean> {
    const { link, session, hear, onGap, onOver, onNoKey } = this.#deps
    const since = this.#lastEventId
    const answer = await link.reach({
      method: 'GET',
      headers: {
        accept: 'text/event-stream',
        ...sessionHeaders(session),
        ...(since !== undefined && { 'last-event-id': since }),
      },
      signal,
      until: Number.POSITIVE_INFINITY,
    })
    const status = answer.statusCode ?? 0
    if (status !== 200 || !isEventStream(answer)) {
      answer.resume()
      if (status === 401) onNoKey()
      if (status === 404) await onOver()
      return status >= 500 || status === 429
    }
    if (this.#hadStream && since === undefined) onGap()
    this.#hadStream = true
    const reader = readerFor(hear)
    try {
      await hearStream(answer, reader)
    } finally {
      this.#lastEventId = reader.lastEventId ?? this.#lastEventId
      this.#retryMs = reader.retryMs ?? this.#retryMs
    }
    return true
  }
}
