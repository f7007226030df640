import { RequestError } from './dialogue.ts'
import type { Asker } from './modern.ts'
import { isUnknownMethod } from './tool-list.ts'

const AGAIN_AFTER_MS = 60_000

/** Modern servers announce changes only to who listens. That may end at any time, which is no error. */
export class Listening {
  readonly #asker: Asker
  readonly #onGap: () => void
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** `onGap`: for a while nobody listened, so there may be a change that was not announced. */
  constructor(asker: Asker, onGap: () => void) {
    this.#asker = asker
    this.#onGap = onGap
    this.#listen()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #listen(): void {
    const startedAt = performance.now()
    const again = () => {
      if (this.#closed) return
      const wait = Math.max(0, startedAt + AGAIN_AFTER_MS - performance.now())
      this.#timer = setTimeout(() => {
        this.#listen()
        this.#onGap()
      }, wait)
    }
    const params = { notifications: { toolsListChanged: true } }
    void this.#asker
      .request('subscriptions/listen', params, { timeoutMs: null })
      .then(again, (error: unknown) => isFinal(error) || again())
  }
}

function isFinal(error: unknown): boolean {
  return isUnknownMethod(error) || (error instanceof RequestError && error.failure === 'closed')
}
