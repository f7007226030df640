import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import { Listening } from './change-subscription.ts'
import { type Asker, LOG_LEVEL } from './modern-requests.ts'

const DONE: CallResult = { value: {}, json: Buffer.from('{}') }

/**
 * What a legacy client asks for once and a modern server wants to hear otherwise: the level of its log with each request,
 * the resources that are watched in one request that lasts.
 */
export class StandingWishes {
  readonly #asker: Asker
  readonly #watched = new Set<string>()
  #level: string | undefined
  #listening: AbortController | undefined

  constructor(asker: Asker) {
    this.#asker = asker
  }

  /** The answer to a wish; undefined for any other request. */
  take(method: string, params: unknown): CallResult | undefined {
    const { uri, level } = isObject(params) ? params : {}
    switch (method) {
      case 'logging/setLevel':
        this.#level = typeof level === 'string' ? level : undefined
        return DONE
      case 'resources/subscribe':
        if (typeof uri === 'string' && !this.#watched.has(uri)) this.#watch(this.#watched.add(uri))
        return DONE
      case 'resources/unsubscribe':
        if (typeof uri === 'string' && this.#watched.delete(uri)) this.#watch(this.#watched)
        return DONE
      default:
        return undefined
    }
  }

  /** The parameters of any other request, with what goes along. */
  with(params: unknown): unknown {
    if (this.#level === undefined) return params
    const given = isObject(params) ? params : {}
    return { ...given, _meta: { [LOG_LEVEL]: this.#level, ...(isObject(given._meta) ? given._meta : {}) } }
  }

  close(): void {
    this.#listening?.abort()
  }

  /** The new one begins before the old one ends, so that nothing is missed between them. */
  #watch(uris: ReadonlySet<string>): void {
    const before = this.#listening
    this.#listening = uris.size > 0 ? new AbortController() : undefined
    if (this.#listening) {
      const notifications = { resourceSubscriptions: [...uris] }
      new Listening(this.#asker, () => {}, notifications, this.#listening.signal)
    }
    before?.abort()
  }
}
