import { isObject } from '../../kernel/is-object.ts'
import type { CallResult } from '../../protocol/call.ts'
import { META, metaOf } from '../../protocol/meta.ts'
import { ChangeSubscription } from './change-subscription.ts'
import type { Requester } from './json-rpc-peer.ts'

const DONE: CallResult = { value: {}, json: Buffer.from('{}') }

/**
 * Translates requests that only legacy servers support for a modern server: the log level is sent with each request, and
 * resource subscriptions become one `subscriptions/listen` request.
 */
export class LegacySubscriptions {
  readonly #requester: Requester
  readonly #uris = new Set<string>()
  #level: string | undefined
  #subscription: AbortController | undefined

  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** The result of a request that is translated. Undefined for every other request. */
  handle(method: string, params: unknown): CallResult | undefined {
    const { uri, level } = isObject(params) ? params : {}
    switch (method) {
      case 'logging/setLevel':
        this.#level = typeof level === 'string' ? level : undefined
        return DONE
      case 'resources/subscribe':
        if (typeof uri === 'string' && !this.#uris.has(uri)) this.#subscribe(this.#uris.add(uri))
        return DONE
      case 'resources/unsubscribe':
        if (typeof uri === 'string' && this.#uris.delete(uri)) this.#subscribe(this.#uris)
        return DONE
      default:
        return undefined
    }
  }

  withLogLevel(params: unknown): unknown {
    if (this.#level === undefined) return params
    const _meta = { [META.logLevel]: this.#level, ...metaOf(params) }
    return { ...(isObject(params) ? params : {}), _meta }
  }

  close(): void {
    this.#subscription?.abort()
  }

  /** The new subscription starts before the old one ends, so that no notification is missed. */
  #subscribe(uris: ReadonlySet<string>): void {
    const before = this.#subscription
    this.#subscription = uris.size > 0 ? new AbortController() : undefined
    if (this.#subscription) {
      const notifications = { resourceSubscriptions: [...uris] }
      new ChangeSubscription(this.#requester, () => {}, notifications, this.#subscription.signal)
    }
    before?.abort()
  }
}
