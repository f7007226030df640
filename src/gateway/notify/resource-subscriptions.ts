import { isObject } from '../../kernel/is-object.ts'
import type { Place } from '../catalogue/merged-catalogue.ts'
import { notFound } from '../catalogue/resource-not-found.ts'
import { wrap } from '../catalogue/wrapped-uri.ts'
import { CODES, RpcError } from '../endpoint/json-rpc.ts'
import type { Hearer, Upstream } from './subscriber.ts'

interface Deps extends Upstream {
  /** Where the resource is that an agent names so. */
  readonly find: (hearer: Hearer, uri: string) => Place | undefined
  readonly visibleServers: (agentType: string) => readonly string[]
  /** Whether the server has said that it tells of changes. */
  readonly tells: (serverId: string) => boolean
}

/** One resource of one server, and everybody who wants to hear of it. */
interface Watched {
  readonly uri: string
  /** Each with the name by which it knows the resource. */
  readonly hearers: Map<Hearer, Known>
  /** Settles when the server has agreed. */
  agreed: Promise<unknown>
  isAgreed: boolean
}

interface Known {
  readonly name: string
  readonly isWrapped: boolean
}

const MOST = 1000

/** Who watches which resource. A server is asked once for each, however many agents want to know. */
export class ResourceSubscriptions {
  readonly #deps: Deps
  readonly #servers = new Map<string, Map<string, Watched>>()
  readonly #counts = new Map<Hearer, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Rejects as the server refuses it. */
  async subscribe(hearer: Hearer, uri: string): Promise<void> {
    const place = this.#deps.find(hearer, uri)
    if (!place) throw notFound(uri, 'legacy')
    if (!this.#hasRoom(hearer)) throw new RpcError(CODES.params, `At most ${MOST} resources can be watched`)
    const watched = this.#join(hearer, uri, place)
    try {
      await watched.agreed
    } catch (error) {
      this.#leave(hearer, place.serverId, watched)
      throw error
    }
  }

  /** False when it cannot be watched. Whether the server agrees is not waited for. */
  add(hearer: Hearer, uri: string): boolean {
    const place = this.#deps.find(hearer, uri)
    if (!place || !this.#deps.tells(place.serverId) || !this.#hasRoom(hearer)) return false
    const watched = this.#join(hearer, uri, place)
    watched.agreed.catch(() => this.#leave(hearer, place.serverId, watched)) // then nothing will be heard of it
    return true
  }

  /** Where it was found then: servers may have come and gone. */
  unsubscribe(hearer: Hearer, uri: string): void {
    this.#leaveAll(hearer, ({ name }) => name === uri)
  }

  /** Everything that it watched. */
  remove(hearer: Hearer): void {
    this.#leaveAll(hearer, () => true)
  }

  /** A server says that a resource is another, and may name one below the one that is watched. */
  updated(serverId: string, params: unknown): void {
    const byUri = this.#servers.get(serverId)
    if (!byUri || !isObject(params) || typeof params.uri !== 'string') return
    const { uri, _meta: _, ...rest } = params
    const told = new Set<Hearer>()
    for (const watched of byUri.values()) {
      if (!isWithin(params.uri, watched.uri)) continue
      for (const [hearer, { isWrapped }] of watched.hearers) {
        if (told.has(hearer) || !this.#sees(hearer, serverId)) continue
        told.add(hearer)
        hearer.tell(UPDATED, { ...rest, uri: isWrapped ? wrap(serverId, params.uri) : uri })
      }
    }
  }

  /** A server that was started knows nothing of what was asked of the one before. */
  started(serverId: string): void {
    for (const watched of this.#servers.get(serverId)?.values() ?? [])
      if (watched.isAgreed) void this.#ask(serverId, watched).catch(() => {}) // it knows the resource no longer
  }

  forget(serverId: string): void {
    const byUri = this.#servers.get(serverId)
    this.#servers.delete(serverId)
    for (const { hearers } of byUri?.values() ?? [])
      for (const hearer of hearers.keys()) this.#count(hearer, -1)
  }

  #join(hearer: Hearer, name: string, { serverId, uri, isWrapped }: Place): Watched {
    const byUri = this.#servers.get(serverId) ?? new Map<string, Watched>()
    this.#servers.set(serverId, byUri)
    const known = byUri.get(uri)
    const watched = known ?? { uri, hearers: new Map(), agreed: Promise.resolve(), isAgreed: false }
    byUri.set(uri, watched)
    if (!watched.hearers.has(hearer)) this.#count(hearer, 1)
    watched.hearers.set(hearer, { name, isWrapped })
    if (!known) watched.agreed = this.#ask(serverId, watched)
    return watched
  }

  #leaveAll(hearer: Hearer, isMeant: (known: Known) => boolean): void {
    if (!this.#counts.has(hearer)) return
    for (const [serverId, byUri] of this.#servers) {
      for (const watched of byUri.values()) {
        const known = watched.hearers.get(hearer)
        if (known && isMeant(known)) this.#leave(hearer, serverId, watched)
      }
    }
  }

  #leave(hearer: Hearer, serverId: string, watched: Watched): void {
    if (!watched.hearers.delete(hearer)) return
    this.#count(hearer, -1)
    const byUri = this.#servers.get(serverId)
    if (watched.hearers.size > 0 || byUri?.get(watched.uri) !== watched) return
    byUri.delete(watched.uri)
    if (byUri.size === 0) this.#servers.delete(serverId)
    if (watched.isAgreed) this.#end(serverId, watched.uri)
  }

  #end(serverId: string, uri: string): void {
    const { isAwake, ask } = this.#deps
    if (isAwake(serverId)) void ask(serverId, 'resources/unsubscribe', { uri }).catch(() => {}) // it is not heard
  }

  async #ask(serverId: string, watched: Watched): Promise<void> {
    await this.#deps.ask(serverId, 'resources/subscribe', { uri: watched.uri })
    watched.isAgreed = true
    const isLeft = watched.hearers.size === 0 && !this.#servers.get(serverId)?.has(watched.uri)
    if (isLeft) this.#end(serverId, watched.uri)
  }

  /** What it may use can change while it listens. */
  #sees({ serverId, agentType }: Hearer, asked: string): boolean {
    return serverId !== undefined || this.#deps.visibleServers(agentType).includes(asked)
  }

  #hasRoom(hearer: Hearer): boolean {
    return (this.#counts.get(hearer) ?? 0) < MOST
  }

  #count(hearer: Hearer, by: number): void {
    const count = (this.#counts.get(hearer) ?? 0) + by
    if (count > 0) this.#counts.set(hearer, count)
    else this.#counts.delete(hearer)
  }
}

export const UPDATED = 'notifications/resources/updated'

const isWithin = (uri: string, watched: string): boolean =>
  uri === watched || uri.startsWith(watched.endsWith('/') ? watched : `${watched}/`)
