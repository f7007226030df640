import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure, isMethodNotFound } from '../protocol/call-failure.ts'
import type { Params } from '../protocol/call-options.ts'
import type { Requester } from './json-rpc-peer.ts'

const RESUBSCRIBE_MS = 60_000

/** Keeps a `subscriptions/listen` request open at a modern server. The server may end it at any time, which is not an error. */
export class ChangeSubscription {
  readonly #requester: Requester
  readonly #onGap: () => void
  readonly #notifications: object
  readonly #signal: AbortSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** `onGap`: the subscription was interrupted, so a change may have been missed. `signal` ends it before the connection ends. */
  constructor(requester: Requester, onGap: () => void, notifications: object, signal?: AbortSignal) {
    this.#requester = requester
    this.#onGap = onGap
    this.#notifications = notifications
    this.#signal = signal
    signal?.addEventListener('abort', () => this.close(), { once: true })
    this.#subscribe()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #subscribe(): void {
    const startedAt = performance.now()
    const resubscribe = () => {
      if (this.#closed) return
      const waitMs = Math.max(0, startedAt + RESUBSCRIBE_MS - performance.now())
      this.#timer = setTimeout(() => {
        this.#subscribe()
        this.#onGap()
      }, waitMs)
    }
    const params = { notifications: this.#notifications }
    void this.#requester
      .request('subscriptions/listen', params, { timeoutMs: null, signal: this.#signal })
      .then(resubscribe, (error: unknown) => isFinal(error) || resubscribe())
  }
}

function isFinal(error: unknown): boolean {
  return isMethodNotFound(error) || (error instanceof CallFailure && error.reason === 'closed')
}

const CHANGES = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
}

/** The list changes that a server announces, as the parameter of a subscription. Undefined when there are none. */
export function announcedChanges(capabilities: Params): object | undefined {
  const kinds = Object.entries(CHANGES).filter(([name]) => {
    const capability = capabilities[name]
    return isObject(capability) && capability.listChanged === true
  })
  return kinds.length > 0 ? Object.fromEntries(kinds.map(([, kind]) => [kind, true])) : undefined
}
