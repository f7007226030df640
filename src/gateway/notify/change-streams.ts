import type { ServerResponse } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import { CODES, type Incoming, RpcError, resultMessage } from '../endpoint/json-rpc.ts'
import { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import { beat, messageOf } from '../sessions/sse-format.ts'
import { Drops } from './drop-counter.ts'
import { hearerOf } from './session-subscriber.ts'
import type { Hearer } from './subscriber.ts'

type Place = Pick<Session, 'keyId' | 'agentType' | 'serverId'>

interface Subscriber extends Place, Hearer {
  /** The changes it wants to hear of. */
  readonly methods: readonly string[]
  readonly id: string | number
  readonly stream: EventStream
}

interface Deps {
  /** Who hears when a resource is another; false where nobody tells. */
  readonly resources?: { add(hearer: Hearer, uri: string): boolean; remove(hearer: Hearer): void }
  /** Of what somebody was not told because it reads too slowly. */
  readonly onDropped?: (place: Place, count: number) => void
}

const KEEP_ALIVE_MS = 15_000
/** A server that starts says several times that its tools have changed. */
const DEBOUNCE_MS = 100
const DROPS_MS = 60_000
const MOST_PER_KEY = 32
const MOST_RESOURCES = 1000
/** Ours, and so outside of what the protocol keeps for itself. */
const TOO_MANY = -31_429
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
export const TOOLS_CHANGED = 'notifications/tools/list_changed'

const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: TOOLS_CHANGED,
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

/** Who wants to hear of changes: legacy agents over the stream of their session, modern ones over a request of its own. */
export class Listeners {
  readonly #deps: Deps
  readonly #subscribers = new Set<Subscriber>()
  readonly #open = new Set<ServerResponse>()
  readonly #keepAlive = setInterval(() => this.#beat(), KEEP_ALIVE_MS).unref()
  #due: NodeJS.Timeout | undefined

  constructor(deps: Deps = {}) {
    this.#deps = deps
  }

  /** The standing stream of a session, or one that broke and goes on after the event that was heard last. */
  listen(session: Session, response: ServerResponse, lastEventId?: string): void {
    if (lastEventId === undefined) session.streams.stand(response)
    else session.streams.resume(lastEventId, response)
    this.#keepAwake(response)
  }

  /** Of what it asks for it gets what can be had here, and the first message says what that is. */
  subscribe(message: Incoming, id: string | number, response: ServerResponse, place: Place): void {
    const { notifications: asked } = message.params
    if (!isObject(asked)) throw new RpcError(CODES.params, 'notifications must say what to listen to')
    this.#refuseTooMany(place)
    const kinds = Object.keys(CHANGES).filter((kind) => asked[kind] === true)
    const drops = new Drops(DROPS_MS, (count) => this.#deps.onDropped?.(place, count))
    const stream = new EventStream(response, drops)
    const subscriber: Subscriber = {
      ...place,
      id,
      stream,
      methods: kinds.flatMap((kind) => CHANGES[kind] ?? []),
      tell: (method, params) => stream.tell(messageOf(method, tagged(params, id))),
    }
    const uris = this.#watch(subscriber, asked.resourceSubscriptions)
    const honoured = {
      ...Object.fromEntries(kinds.map((kind) => [kind, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    }
    subscriber.tell('notifications/subscriptions/acknowledged', { notifications: honoured })
    this.#subscribers.add(subscriber)
    this.#keepAwake(response)
    response.on('close', () => {
      this.#subscribers.delete(subscriber)
      this.#deps.resources?.remove(subscriber)
    })
  }

  toolsChanged(sessions: Iterable<Session>): void {
    clearTimeout(this.#due)
    this.#due = setTimeout(() => this.changed(sessions, TOOLS_CHANGED, () => true), DEBOUNCE_MS).unref()
  }

  /** A list is no longer what it was. */
  changed(sessions: Iterable<Session>, method: string, isMeant: (place: Place) => boolean): void {
    for (const session of sessions) if (isMeant(session)) session.streams.tell(method)
    for (const subscriber of this.#subscribers)
      if (subscriber.methods.includes(method) && isMeant(subscriber)) subscriber.tell(method, {})
  }

  /** What one server says unasked, to each session that is about this server alone: over one stream, never two. */
  note(sessions: Iterable<Session>, serverId: string, method: string, params: unknown): void {
    const said = isObject(params) ? params : {}
    for (const session of sessions) if (session.serverId === serverId) hearerOf(session).tell(method, said)
    for (const subscriber of this.#subscribers)
      if (subscriber.methods.includes(method) && subscriber.serverId === serverId)
        subscriber.tell(method, said)
  }

  /** The subscriptions of these. The specification says the end in two ways; so do we. */
  end(isMeant: (place: Place) => boolean): void {
    for (const subscriber of this.#subscribers) {
      if (!isMeant(subscriber)) continue
      const { id, stream, tell } = subscriber
      tell('notifications/cancelled', { requestId: id, reason: 'The gateway ends it' })
      stream.end(resultMessage(id, JSON.stringify(tagged({ resultType: 'complete' }, id))))
    }
  }

  close(): void {
    this.end(() => true)
    clearInterval(this.#keepAlive)
    clearTimeout(this.#due)
  }

  /** Those that can be had. */
  #watch(subscriber: Subscriber, asked: unknown): string[] {
    const { resources } = this.#deps
    if (!resources || !Array.isArray(asked)) return []
    const uris = asked.filter((uri): uri is string => typeof uri === 'string')
    return [...new Set(uris)].slice(0, MOST_RESOURCES).filter((uri) => resources.add(subscriber, uri))
  }

  #refuseTooMany({ keyId }: Place): void {
    const own = [...this.#subscribers].filter((subscriber) => subscriber.keyId === keyId)
    if (own.length < MOST_PER_KEY) return
    throw new RpcError(TOO_MANY, `This agent listens ${MOST_PER_KEY} times already`, { status: 429 })
  }

  #keepAwake(response: ServerResponse): void {
    this.#open.add(response)
    response.on('close', () => this.#open.delete(response))
  }

  #beat(): void {
    for (const response of this.#open) beat(response)
  }
}

const tagged = (params: Readonly<Record<string, unknown>> | object, id: string | number): object => {
  const { _meta } = params as { _meta?: unknown }
  return { ...params, _meta: { ...(isObject(_meta) ? _meta : {}), [SUBSCRIPTION]: id } }
}
