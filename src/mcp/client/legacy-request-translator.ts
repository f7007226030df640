import { isObject } from '../../kernel/json/json-checks.ts'
import { CallResult, metaOf } from '../protocol/json-rpc-message.ts'
import { META } from '../protocol/mcp-constants.ts'
import { plainOf, withMeta } from '../protocol/raw-json.ts'
import { ChangeSubscription } from './change-subscription.ts'
import type { Requester } from './json-rpc-peer.ts'

const DONE = CallResult.of({})

/** The requests that are translated. */
export const TRANSLATED = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']

/**
 * Translates requests that only legacy servers support for a modern server: the log level is sent with each request, and
 * resource subscriptions become one `subscriptions/listen` request.
 */
export class LegacyRequestTranslator {
  readonly #requester: Requester
  readonly #uris = new Set<string>()
  logLevel: string | undefined
  #subscription: AbortController | undefined

  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Handles a request that is translated. */
  async handle(method: string, params: unknown): Promise<CallResult> {
    const given = plainOf(params)
    const { uri, level } = isObject(given) ? given : {}
    if (method === 'logging/setLevel') this.logLevel = typeof level === 'string' ? level : undefined
    else if (typeof uri !== 'string') return DONE
    else if (method === 'resources/unsubscribe') {
      if (this.#uris.delete(uri)) this.#subscribe(this.#uris)
    } else if (!this.#uris.has(uri)) this.#subscribe(this.#uris.add(uri))
    return DONE
  }

  /** The params with the log level, which a modern server receives with each request. */
  withLogLevel(params: unknown): unknown {
    const isSet = metaOf(plainOf(params))[META.logLevel] !== undefined
    return isSet ? params : withMeta(params, { [META.logLevel]: this.logLevel })
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
