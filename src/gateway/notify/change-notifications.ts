import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CODES, META } from '../../mcp/protocol/mcp-constants.ts'
import { RawJson, textOf, withMembers, withMeta } from '../../mcp/protocol/raw-json.ts'
import type { Incoming } from '../messages/incoming-message.ts'
import { refuseLongUri } from '../messages/large-params.ts'
import { cancelled, type RequestId, RpcError } from '../messages/rpc-error.ts'
import { resultMessage } from '../messages/rpc-response.ts'
import { DropCounter, EventStream, messageOf, sendHeartbeat } from '../sessions/event-stream.ts'
import type { Access, Session } from '../sessions/sessions.ts'
import { ENTRY_BYTES, type KeptBytes, PARSED_FACTOR } from '../sessions/sessions.ts'
import type { ResourceSubscriptions } from './resource-subscriptions.ts'
import { type IsReceiver, type Subscriber, subscriberOf } from './subscriber.ts'

/** A `subscriptions/listen` request of a modern agent. */
interface Listener extends Access, Subscriber {
  /** The change notifications that it has subscribed to. */
  readonly methods: readonly string[]
  readonly id: RequestId
  readonly stream: EventStream
}

const KEEP_ALIVE_MS = 15_000
/** A starting server changes its tools several times. */
const DEBOUNCE_MS = 100
const MAX_PER_KEY = 32
const MAX_RESOURCES = 1000
export const TOOLS_CHANGED = 'notifications/tools/list_changed'

const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: TOOLS_CHANGED,
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

/** Whether Toolroom itself notifies about what this filter of `subscriptions/listen` selects. */
export const isOwnFilter = (name: string): boolean =>
  name === 'resourceSubscriptions' || Object.hasOwn(CHANGES, name)

/** Sends change notifications: to legacy agents on their GET stream, to modern agents on `subscriptions/listen` requests. */
export class ChangeNotifications {
  readonly #resources: ResourceSubscriptions
  readonly #kept: KeptBytes
  readonly #onDropped: (access: Access, count: number) => void
  readonly #listeners = new Set<Listener>()
  readonly #responses = new Set<HttpResponse>()
  readonly #keepAlive = setInterval(() => {
    for (const response of this.#responses) sendHeartbeat(response)
  }, KEEP_ALIVE_MS).unref()
  /** Servers whose changed tools have not been announced yet. */
  readonly #changedServers = new Set<string>()
  #due: NodeJS.Timeout | undefined

  /** `onDropped`: notifications were dropped because an agent reads too slowly. */
  constructor(
    resources: ResourceSubscriptions,
    kept: KeptBytes,
    onDropped: (access: Access, count: number) => void,
  ) {
    this.#resources = resources
    this.#kept = kept
    this.#onDropped = onDropped
  }

  /** Opens the GET stream of a session, or resumes a stream after an event. */
  open(session: Session, response: HttpResponse, lastEventId?: string): void {
    if (lastEventId === undefined) session.streams.listen(response)
    else session.streams.resume(lastEventId, response)
    this.#track(response)
  }

  /**
   * Starts a `subscriptions/listen` request. Its first message lists the subscriptions that are supported, including `others`,
   * which the caller handles.
   */
  subscribe(
    message: Incoming,
    id: RequestId,
    response: HttpResponse,
    access: Access,
    others: object = {},
  ): { readonly notify: Subscriber['notify']; readonly end: () => void } {
    const { notifications: requested } = message.params
    if (!isObject(requested)) throw new RpcError(CODES.params, 'notifications must be an object')
    this.refuseTooMany(access)
    const uris = urisIn(requested.resourceSubscriptions)
    for (const uri of uris) refuseLongUri(uri)
    if (response.destroyed) throw cancelled()
    const bytes = ENTRY_BYTES + PARSED_FACTOR * message.body.length
    this.#kept.take(access.keyId, bytes)
    response.on('close', () => this.#kept.free(access.keyId, bytes))
    const kinds = Object.keys(CHANGES).filter((kind) => requested[kind] === true)
    const drops = new DropCounter((count) => this.#onDropped(access, count))
    const stream = new EventStream(response, drops)
    const listener: Listener = {
      ...access,
      id,
      stream,
      methods: kinds.flatMap((kind) => CHANGES[kind] ?? []),
      notify: (method, params) => stream.notify(messageOf(method, tagged(params, id))),
    }
    const subscribed = uris.filter((uri) => this.#resources.add(listener, uri))
    const supported = {
      ...Object.fromEntries(kinds.map((kind) => [kind, true])),
      ...(subscribed.length > 0 && { resourceSubscriptions: subscribed }),
      ...others,
    }
    listener.notify('notifications/subscriptions/acknowledged', { notifications: supported })
    this.#listeners.add(listener)
    this.#track(response)
    response.on('close', () => {
      this.#listeners.delete(listener)
      this.#resources.remove(listener)
    })
    return { notify: listener.notify, end: () => endListener(listener) }
  }

  /** Announces changed tools of a server to agents at `/mcp` and at this server, a moment later. */
  toolsChanged(sessions: Iterable<Session>, serverId: string): void {
    this.#changedServers.add(serverId)
    clearTimeout(this.#due)
    this.#due = setTimeout(() => {
      const changed = new Set(this.#changedServers)
      this.#changedServers.clear()
      this.changed(sessions, TOOLS_CHANGED, ({ serverId: only }) => only === undefined || changed.has(only))
    }, DEBOUNCE_MS).unref()
  }

  /** Announces that a list has changed. */
  changed(sessions: Iterable<Session>, method: string, isReceiver: (access: Access) => boolean): void {
    for (const session of sessions) if (isReceiver(session)) session.streams.notify(method)
    for (const listener of this.#listeners)
      if (listener.methods.includes(method) && isReceiver(listener)) listener.notify(method, {})
  }

  /** Forwards a notification of a server to sessions and listeners that are limited to this server. */
  forward(
    sessions: Iterable<Session>,
    serverId: string,
    method: string,
    params: unknown,
    isReceiver: IsReceiver,
  ): void {
    const sent = isObject(params) ? params : {}
    for (const session of sessions) {
      const subscriber = subscriberOf(session)
      if (session.serverId === serverId && isReceiver(subscriber)) subscriber.notify(method, sent)
    }
    for (const listener of this.#listeners)
      if (listener.methods.includes(method) && listener.serverId === serverId) listener.notify(method, sent)
  }

  /** Ends `subscriptions/listen` requests, with both messages that the specification allows for it. */
  end(isEnded: (access: Access) => boolean): void {
    for (const listener of this.#listeners) if (isEnded(listener)) endListener(listener)
  }

  close(): void {
    this.end(() => true)
    clearInterval(this.#keepAlive)
    clearTimeout(this.#due)
  }

  /** Throws when this key has too many `subscriptions/listen` requests. */
  refuseTooMany({ keyId }: Access): void {
    const own = [...this.#listeners].filter((listener) => listener.keyId === keyId)
    if (own.length < MAX_PER_KEY) return
    throw new RpcError(CODES.tooMany, `Too many subscriptions/listen requests (max ${MAX_PER_KEY})`, {
      status: 429,
    })
  }

  #track(response: HttpResponse): void {
    this.#responses.add(response)
    response.on('close', () => this.#responses.delete(response))
  }
}

function urisIn(requested: unknown): string[] {
  const uris = Array.isArray(requested)
    ? requested.filter((uri): uri is string => typeof uri === 'string')
    : []
  return [...new Set(uris)].slice(0, MAX_RESOURCES)
}

function endListener({ id, stream, notify }: Listener): void {
  const requestId = new RawJson(id.json, id.key)
  const cancellation = withMembers({ reason: 'Ended by the gateway' }, { requestId })
  notify('notifications/cancelled', cancellation as object)
  stream.end(resultMessage(id, textOf(tagged({ resultType: 'complete' }, id))))
}

const tagged = (params: object, { json, key }: RequestId): unknown =>
  withMeta(params, { [META.subscriptionId]: new RawJson(json, key) })
