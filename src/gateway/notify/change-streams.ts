import type { ServerResponse } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import { metaOf } from '../../protocol/json-rpc-message.ts'
import { META } from '../../protocol/meta.ts'
import { type Incoming, RpcError, resultMessage } from '../endpoint/json-rpc.ts'
import { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import { messageOf, sendHeartbeat } from '../sessions/sse-format.ts'
import { DropCounter } from './drop-counter.ts'
import { subscriberOf } from './session-subscriber.ts'
import type { Subscriber } from './subscriber.ts'

type Place = Pick<Session, 'keyId' | 'agentType' | 'serverId'>

/** A `subscriptions/listen` request of a modern agent. */
interface Listener extends Place, Subscriber {
  /** The change notifications that it has subscribed to. */
  readonly methods: readonly string[]
  readonly id: string | number
  readonly stream: EventStream
}

interface Deps {
  /** Resource subscriptions. `add` returns false when the server does not send updates. */
  readonly resources?: {
    add(subscriber: Subscriber, uri: string): boolean
    remove(subscriber: Subscriber): void
  }
  /** Notifications were dropped because an agent reads too slowly. */
  readonly onDropped?: (place: Place, count: number) => void
}

const KEEP_ALIVE_MS = 15_000
/** A starting server changes its tools several times. */
const DEBOUNCE_MS = 100
const REPORT_DROPS_MS = 60_000
const MAX_PER_KEY = 32
const MAX_RESOURCES = 1000
export const TOOLS_CHANGED = 'notifications/tools/list_changed'

const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: TOOLS_CHANGED,
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

/** Sends change notifications: to legacy agents on the stream of their session, to modern agents on a request of its own. */
export class ChangeStreams {
  readonly #deps: Deps
  readonly #listeners = new Set<Listener>()
  readonly #responses = new Set<ServerResponse>()
  readonly #keepAlive = setInterval(() => this.#heartbeat(), KEEP_ALIVE_MS).unref()
  #due: NodeJS.Timeout | undefined

  constructor(deps: Deps = {}) {
    this.#deps = deps
  }

  /** Opens the GET stream of a session, or resumes a stream after an event. */
  open(session: Session, response: ServerResponse, lastEventId?: string): void {
    if (lastEventId === undefined) session.streams.listen(response)
    else session.streams.resume(lastEventId, response)
    this.#track(response)
  }

  /** Starts a `subscriptions/listen` request. Its first message lists the subscriptions that are supported. */
  subscribe(message: Incoming, id: string | number, response: ServerResponse, place: Place): void {
    const { notifications: asked } = message.params
    if (!isObject(asked)) throw new RpcError(CODES.params, 'notifications must be an object')
    this.#refuseTooMany(place)
    const kinds = Object.keys(CHANGES).filter((kind) => asked[kind] === true)
    const drops = new DropCounter(REPORT_DROPS_MS, (count) => this.#deps.onDropped?.(place, count))
    const stream = new EventStream(response, drops)
    const listener: Listener = {
      ...place,
      id,
      stream,
      methods: kinds.flatMap((kind) => CHANGES[kind] ?? []),
      notify: (method, params) => stream.notify(messageOf(method, tagged(params, id))),
    }
    const uris = this.#subscribeTo(listener, asked.resourceSubscriptions)
    const supported = {
      ...Object.fromEntries(kinds.map((kind) => [kind, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    }
    listener.notify('notifications/subscriptions/acknowledged', { notifications: supported })
    this.#listeners.add(listener)
    this.#track(response)
    response.on('close', () => {
      this.#listeners.delete(listener)
      this.#deps.resources?.remove(listener)
    })
  }

  toolsChanged(sessions: Iterable<Session>): void {
    clearTimeout(this.#due)
    this.#due = setTimeout(() => this.changed(sessions, TOOLS_CHANGED, () => true), DEBOUNCE_MS).unref()
  }

  /** Announces that a list has changed. */
  changed(sessions: Iterable<Session>, method: string, isReceiver: (place: Place) => boolean): void {
    for (const session of sessions) if (isReceiver(session)) session.streams.notify(method)
    for (const listener of this.#listeners)
      if (listener.methods.includes(method) && isReceiver(listener)) listener.notify(method, {})
  }

  /** Forwards a notification of a server to sessions and listeners that are limited to this server. */
  forward(sessions: Iterable<Session>, serverId: string, method: string, params: unknown): void {
    const sent = isObject(params) ? params : {}
    for (const session of sessions)
      if (session.serverId === serverId) subscriberOf(session).notify(method, sent)
    for (const listener of this.#listeners)
      if (listener.methods.includes(method) && listener.serverId === serverId) listener.notify(method, sent)
  }

  /** Ends listeners, with both messages that the specification allows for it. */
  end(isEnded: (place: Place) => boolean): void {
    for (const listener of this.#listeners) {
      if (!isEnded(listener)) continue
      const { id, stream, notify } = listener
      notify('notifications/cancelled', { requestId: id, reason: 'Ended by the gateway' })
      stream.end(resultMessage(id, JSON.stringify(tagged({ resultType: 'complete' }, id))))
    }
  }

  close(): void {
    this.end(() => true)
    clearInterval(this.#keepAlive)
    clearTimeout(this.#due)
  }

  /** The URIs that can be subscribed to. */
  #subscribeTo(listener: Listener, asked: unknown): string[] {
    const { resources } = this.#deps
    if (!resources || !Array.isArray(asked)) return []
    const uris = asked.filter((uri): uri is string => typeof uri === 'string')
    return [...new Set(uris)].slice(0, MAX_RESOURCES).filter((uri) => resources.add(listener, uri))
  }

  #refuseTooMany({ keyId }: Place): void {
    const own = [...this.#listeners].filter((listener) => listener.keyId === keyId)
    if (own.length < MAX_PER_KEY) return
    throw new RpcError(CODES.tooMany, `Too many subscriptions/listen requests (max ${MAX_PER_KEY})`, {
      status: 429,
    })
  }

  #track(response: ServerResponse): void {
    this.#responses.add(response)
    response.on('close', () => this.#responses.delete(response))
  }

  #heartbeat(): void {
    for (const response of this.#responses) sendHeartbeat(response)
  }
}

const tagged = (params: Readonly<Record<string, unknown>> | object, id: string | number): object => {
  return { ...params, _meta: { ...metaOf(params), [META.subscriptionId]: id } }
}
