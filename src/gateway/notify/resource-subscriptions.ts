import { isObject } from '../../kernel/json/json-checks.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import type { ResourceLocation } from '../catalogue/merge-prompts-and-resources.ts'
import { wrap } from '../catalogue/wrapped-uri.ts'
import { refuseLongUri } from '../messages/large-params.ts'
import { RpcError, resourceNotFound } from '../messages/rpc-error.ts'
import type { KeptBytes } from '../sessions/sessions.ts'
import type { SubscribableServers, Subscriber } from './subscriber.ts'

interface Deps extends SubscribableServers {
  /** The server of a resource, by the URI that the agent uses. */
  readonly locate: (subscriber: Subscriber, uri: string) => ResourceLocation | undefined
  /** Whether the server supports resource subscriptions. */
  readonly hasSubscribe: (serverId: string) => boolean
  readonly kept: KeptBytes
}

/** One resource of one server, with its subscribers. */
interface Subscription {
  readonly uri: string
  /** Each with the URI that it uses for the resource. */
  readonly subscribers: Map<Subscriber, AgentUri>
  /** Settles when the server has answered our subscription. */
  confirmed: Promise<unknown>
  isConfirmed: boolean
}

interface AgentUri {
  readonly agentUri: string
  readonly isWrapped: boolean
}

const MAX_PER_SUBSCRIBER = 1000
const OVERHEAD_BYTES = 1024
/** The URI of the agent and that of the server, with two bytes for each character. */
const bytesOf = (uri: string): number => OVERHEAD_BYTES + 4 * uri.length

/** Resource subscriptions of all agents. The server gets one subscription per resource, shared by all subscribers. */
export class ResourceSubscriptions {
  readonly #deps: Deps
  readonly #servers = new Map<string, Map<string, Subscription>>()
  readonly #counts = new Map<Subscriber, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Rejects when the server rejects the subscription. */
  async subscribe(subscriber: Subscriber, uri: string): Promise<void> {
    refuseLongUri(uri)
    const location = this.#deps.locate(subscriber, uri)
    if (!location) throw resourceNotFound(uri, 'legacy')
    if (!this.#hasRoom(subscriber))
      throw new RpcError(CODES.params, `Too many resource subscriptions (max ${MAX_PER_SUBSCRIBER})`)
    const subscription = this.#join(subscriber, uri, location)
    try {
      await subscription.confirmed
    } catch (error) {
      this.#leave(subscriber, location.serverId, subscription)
      throw error
    }
  }

  /** False when the server does not support it, or there is no room for it. Does not wait for the server's response. */
  add(subscriber: Subscriber, uri: string): boolean {
    const location = this.#deps.locate(subscriber, uri)
    if (!location || !this.#deps.hasSubscribe(location.serverId) || !this.#hasRoom(subscriber)) return false
    const subscription = this.#joinIfKept(subscriber, uri, location)
    if (!subscription) return false
    subscription.confirmed.catch(() => this.#leave(subscriber, location.serverId, subscription))
    return true
  }

  /**
   * Finds the subscription by the URI of the agent, because the location of that URI may have changed since. Without a
   * subscription the server answers, unless that would end the subscription of another client.
   */
  async unsubscribe(subscriber: Subscriber, uri: string): Promise<void> {
    if (this.#leaveAll(subscriber, ({ agentUri }) => agentUri === uri)) return
    const location = this.#deps.locate(subscriber, uri)
    if (!location || this.#servers.get(location.serverId)?.has(location.uri)) return
    await this.#deps.request(location.serverId, 'resources/unsubscribe', { uri: location.uri })
  }

  /** Ends all subscriptions of a subscriber. */
  remove(subscriber: Subscriber): void {
    this.#leaveAll(subscriber, () => true)
  }

  /** Sends an update to the subscribers of a resource, or of one above it. */
  deliver(serverId: string, params: unknown): void {
    const byUri = this.#servers.get(serverId)
    if (!byUri || !isObject(params) || typeof params.uri !== 'string') return
    const { uri, _meta: _, ...rest } = params
    const sent = new Set<Subscriber>()
    for (const subscription of byUri.values()) {
      if (!isWithin(params.uri, subscription.uri)) continue
      for (const [subscriber, { isWrapped }] of subscription.subscribers) {
        // What an agent sees can change during a subscription.
        if (sent.has(subscriber) || !this.#deps.serversOf(subscriber).includes(serverId)) continue
        sent.add(subscriber)
        subscriber.notify(UPDATED, { ...rest, uri: isWrapped ? wrap(serverId, params.uri) : uri })
      }
    }
  }

  serverStarted(serverId: string): void {
    for (const subscription of this.#servers.get(serverId)?.values() ?? [])
      if (subscription.isConfirmed) void this.#request(serverId, subscription).catch(() => {}) // the resource may be gone
  }

  serverRemoved(serverId: string): void {
    const byUri = this.#servers.get(serverId)
    this.#servers.delete(serverId)
    for (const { subscribers } of byUri?.values() ?? [])
      for (const [subscriber, { agentUri }] of subscribers) this.#forget(subscriber, agentUri)
  }

  /** Undefined when too much is kept for its key. */
  #joinIfKept(subscriber: Subscriber, uri: string, location: ResourceLocation): Subscription | undefined {
    try {
      return this.#join(subscriber, uri, location)
    } catch {
      return undefined // the agent sees in the acknowledgement what it has not got
    }
  }

  #join(
    subscriber: Subscriber,
    agentUri: string,
    { serverId, uri, isWrapped }: ResourceLocation,
  ): Subscription {
    const byUri = this.#servers.get(serverId) ?? new Map<string, Subscription>()
    const existing = byUri.get(uri)
    const before = existing?.subscribers.get(subscriber)
    this.#deps.kept.take(subscriber.keyId, bytesOf(agentUri))
    if (before) this.#forget(subscriber, before.agentUri)
    this.#count(subscriber, 1)
    this.#servers.set(serverId, byUri)
    const subscription = existing ?? {
      uri,
      subscribers: new Map(),
      confirmed: Promise.resolve(),
      isConfirmed: false,
    }
    byUri.set(uri, subscription)
    subscription.subscribers.set(subscriber, { agentUri, isWrapped })
    if (!existing) subscription.confirmed = this.#request(serverId, subscription)
    return subscription
  }

  /** Whether there was a subscription to leave. */
  #leaveAll(subscriber: Subscriber, isLeft: (uri: AgentUri) => boolean): boolean {
    if (!this.#counts.has(subscriber)) return false
    let hasLeft = false
    for (const [serverId, byUri] of this.#servers) {
      for (const subscription of byUri.values()) {
        const uri = subscription.subscribers.get(subscriber)
        if (!uri || !isLeft(uri)) continue
        this.#leave(subscriber, serverId, subscription)
        hasLeft = true
      }
    }
    return hasLeft
  }

  #leave(subscriber: Subscriber, serverId: string, subscription: Subscription): void {
    const left = subscription.subscribers.get(subscriber)
    if (!left) return
    subscription.subscribers.delete(subscriber)
    this.#forget(subscriber, left.agentUri)
    const byUri = this.#servers.get(serverId)
    if (subscription.subscribers.size > 0 || byUri?.get(subscription.uri) !== subscription) return
    byUri.delete(subscription.uri)
    if (byUri.size === 0) this.#servers.delete(serverId)
    if (subscription.isConfirmed) this.#end(serverId, subscription.uri)
  }

  #end(serverId: string, uri: string): void {
    const { isAwake, request } = this.#deps
    if (isAwake(serverId)) void request(serverId, 'resources/unsubscribe', { uri }).catch(() => {}) // later updates are ignored
  }

  async #request(serverId: string, subscription: Subscription): Promise<void> {
    const { uri, subscribers } = subscription
    await this.#deps.request(serverId, 'resources/subscribe', { uri })
    subscription.isConfirmed = true
    const isUnused = subscribers.size === 0 && !this.#servers.get(serverId)?.has(uri)
    if (isUnused) this.#end(serverId, uri)
  }

  #hasRoom(subscriber: Subscriber): boolean {
    return (this.#counts.get(subscriber) ?? 0) < MAX_PER_SUBSCRIBER
  }

  #forget(subscriber: Subscriber, agentUri: string): void {
    this.#count(subscriber, -1)
    this.#deps.kept.free(subscriber.keyId, bytesOf(agentUri))
  }

  #count(subscriber: Subscriber, by: number): void {
    const count = (this.#counts.get(subscriber) ?? 0) + by
    if (count > 0) this.#counts.set(subscriber, count)
    else this.#counts.delete(subscriber)
  }
}

export const UPDATED = 'notifications/resources/updated'

const isWithin = (uri: string, subscribed: string): boolean =>
  uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)
