import { isObject } from '../../kernel/is-object.ts'
import { CallFailure } from '../../protocol/call.ts'
import type { Asker } from './modern-requests.ts'
import { isUnknownMethod } from './tool-list.ts'

const AGAIN_AFTER_MS = 60_000

/** Modern servers announce changes only to who listens. That may end at any time, which is no error. */
export class Listening {
  readonly #asker: Asker
  readonly #onGap: () => void
  readonly #notifications: object
  readonly #signal: AbortSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /**
   * `onGap`: for a while nobody listened, so there may be a change that was not announced. `signal` ends it before the
   * conversation does.
   */
  constructor(
    asker: Asker,
    onGap: () => void,
    notifications: object = { toolsListChanged: true },
    signal?: AbortSignal,
  ) {
    this.#asker = asker
    this.#onGap = onGap
    this.#notifications = notifications
    this.#signal = signal
    signal?.addEventListener('abort', () => this.close(), { once: true })
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
    const params = { notifications: this.#notifications }
    void this.#asker
      .request('subscriptions/listen', params, { timeoutMs: null, signal: this.#signal })
      .then(again, (error: unknown) => isFinal(error) || again())
  }
}

function isFinal(error: unknown): boolean {
  return isUnknownMethod(error) || (error instanceof CallFailure && error.reason === 'closed')
}

const ANNOUNCED = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
}

/** The announcements that a server has declared; undefined when there are none. */
export function announcedBy(capabilities: Readonly<Record<string, unknown>>): object | undefined {
  const kinds = Object.entries(ANNOUNCED).filter(([name]) => {
    const capability = capabilities[name]
    return isObject(capability) && capability.listChanged === true
  })
  return kinds.length > 0 ? Object.fromEntries(kinds.map(([, kind]) => [kind, true])) : undefined
}
