import type { ServerResponse } from 'node:http'
import { type Incoming, isObject } from './rpc.ts'
import type { Session } from './sessions.ts'
import { SSE } from './sse.ts'

const KEEP_ALIVE_MS = 15_000
/** A server that starts says several times that its tools have changed. */
const DEBOUNCE_MS = 100
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

const TOOLS = 'toolsListChanged'
const CHANGES: Readonly<Record<string, string>> = {
  [TOOLS]: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

interface Subscriber extends Pick<Session, 'keyId' | 'agentType' | 'serverId'> {
  /** The changes it wants to hear of. */
  readonly methods: readonly string[]
  readonly id: string | number
  readonly response: ServerResponse
}

/** Who wants to hear of changes: legacy agents over the stream of their session, modern ones over a request of its own. */
export class Listeners {
  readonly #subscribers = new Set<Subscriber>()
  readonly #open = new Set<ServerResponse>()
  readonly #keepAlive = setInterval(() => this.#beat(), KEEP_ALIVE_MS).unref()
  #due: NodeJS.Timeout | undefined

  /** The newest stream of a session is the one that counts. */
  listen(session: Session, response: ServerResponse): void {
    session.stream?.end()
    session.stream = response
    this.#begin(response)
    response.on('close', () => {
      if (session.stream === response) session.stream = undefined
    })
  }

  /** Of what it asks for it gets what can be had here, and the first message says what that is. */
  subscribe(
    message: Incoming,
    id: string | number,
    response: ServerResponse,
    place: Pick<Session, 'keyId' | 'agentType' | 'serverId'>,
  ): void {
    const { notifications } = message.params
    const asked = isObject(notifications) ? notifications : {}
    // What prompts and resources there are is told of one server, not of all together.
    const offered = place.serverId === undefined ? [TOOLS] : Object.keys(CHANGES)
    const honoured = offered.filter((kind) => asked[kind] === true)
    this.#begin(response)
    const about = { notifications: Object.fromEntries(honoured.map((kind) => [kind, true])) }
    writeEvent(response, 'notifications/subscriptions/acknowledged', {
      ...about,
      _meta: { [SUBSCRIPTION]: id },
    })
    const methods = honoured.flatMap((kind) => CHANGES[kind] ?? [])
    const subscriber = { ...place, id, response, methods }
    this.#subscribers.add(subscriber)
    response.on('close', () => this.#subscribers.delete(subscriber))
  }

  toolsChanged(sessions: Iterable<Session>): void {
    clearTimeout(this.#due)
    this.#due = setTimeout(() => {
      const method = 'notifications/tools/list_changed'
      for (const { stream } of sessions) if (stream) writeEvent(stream, method)
      this.#tellSubscribers(method, () => true)
    }, DEBOUNCE_MS).unref()
  }

  /** What one server says unasked, to each session that is about this server alone: over one stream, never two. */
  note(sessions: Iterable<Session>, serverId: string, method: string, params: unknown): void {
    for (const session of sessions) {
      if (session.serverId !== serverId) continue
      const [first] = session.open.values()
      if (first && method === 'notifications/message') first.tell(method, params)
      else if (session.stream) writeEvent(session.stream, method, params as object)
    }
    this.#tellSubscribers(method, (subscriber) => subscriber.serverId === serverId)
  }

  #tellSubscribers(method: string, isMeant: (subscriber: Subscriber) => boolean): void {
    for (const subscriber of this.#subscribers) {
      const { id, response, methods } = subscriber
      if (methods.includes(method) && isMeant(subscriber))
        writeEvent(response, method, { _meta: { [SUBSCRIPTION]: id } })
    }
  }

  /** All of them, or those of a key that was taken away. */
  close(keyId?: string): void {
    for (const { response, keyId: owner } of this.#subscribers) if (owner === keyId) response.end()
    if (keyId !== undefined) return
    clearInterval(this.#keepAlive)
    clearTimeout(this.#due)
    for (const response of this.#open) response.end()
  }

  #begin(response: ServerResponse): void {
    response.writeHead(200, SSE)
    response.write(': here\n\n')
    this.#open.add(response)
    response.on('close', () => this.#open.delete(response))
  }

  #beat(): void {
    for (const response of this.#open) response.write(': here\n\n')
  }
}

/** One line each: JSON has no line breaks of its own. */
export function writeEvent(response: ServerResponse, method: string, params?: object, id?: string): void {
  const message = { jsonrpc: '2.0', ...(id !== undefined && { id }), method, ...(params && { params }) }
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}
