import { isObject } from '../../kernel/json/json-checks.ts'
import { within } from '../../kernel/time-limit.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from '../messages/rpc-error.ts'
import type { IsReceiver, SubscribableServers, Subscriber } from './subscriber.ts'

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
/** How long a request waits until its server has the log level. After that it is sent anyway. */
const SET_LEVEL_MS = 1000
/** The level of messages with an unknown level. */
const DEFAULT_LEVEL = LEVELS.indexOf('info')

interface Deps extends SubscribableServers {
  readonly hasLogging: (serverId: string) => boolean
}

/** The log level of each subscriber. A server gets the lowest level that any of its subscribers has. */
export class LogLevels {
  readonly #deps: Deps
  /** Levels of sessions. */
  readonly #sessions = new Map<Subscriber, number>()
  /** Levels of requests until they are answered, by server. */
  readonly #requests = new Map<string, Map<Subscriber, number>>()
  /** The level that each running server has. */
  readonly #serverLevels = new Map<string, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Sets the level of a session. */
  set(subscriber: Subscriber, level: unknown): void {
    const index = LEVELS.indexOf(String(level))
    if (index === -1) throw new RpcError(CODES.params, `Unknown log level: ${String(level).slice(0, 40)}`)
    this.#sessions.set(subscriber, index)
    this.#updateAll(subscriber)
  }

  remove(subscriber: Subscriber): void {
    if (this.#sessions.delete(subscriber)) this.#updateAll(subscriber)
  }

  /** The level that a session has set. */
  of(subscriber: Subscriber): string | undefined {
    const level = this.#sessions.get(subscriber)
    return level === undefined ? undefined : LEVELS[level]
  }

  /** Whether a session has set a level. */
  has(subscriber: Subscriber): boolean {
    return this.#sessions.has(subscriber)
  }

  /** Sets a level for one request, until the returned function is called. Undefined for an unknown level. */
  async during(serverId: string, subscriber: Subscriber, level: unknown): Promise<(() => void) | undefined> {
    const index = LEVELS.indexOf(String(level))
    if (index === -1) return undefined
    const requests = this.#requests.get(serverId) ?? new Map<Subscriber, number>()
    this.#requests.set(serverId, requests.set(subscriber, index))
    const updated = this.#update(serverId)
    if (updated !== undefined) await within(updated, SET_LEVEL_MS)
    return () => {
      requests.delete(subscriber)
      if (requests.size === 0) this.#requests.delete(serverId)
    }
  }

  /** Sends a log message of a server to the subscribers whose level it reaches. */
  deliver(serverId: string, params: unknown, isReceiver: IsReceiver): void {
    if (!isObject(params)) return
    const index = LEVELS.indexOf(String(params.level))
    const level = index === -1 ? DEFAULT_LEVEL : index
    for (const [subscriber, minimum] of this.#sessions)
      if (level >= minimum && isReceiver(subscriber) && this.#sees(subscriber, serverId))
        send(subscriber, serverId, params)
    for (const [subscriber, minimum] of this.#requests.get(serverId) ?? [])
      if (level >= minimum && isReceiver(subscriber)) send(subscriber, serverId, params)
  }

  serverStarted(serverId: string): void {
    this.#serverLevels.delete(serverId)
    void this.#update(serverId)
  }

  #updateAll(subscriber: Subscriber): void {
    for (const id of this.#deps.serversOf(subscriber)) void this.#update(id)
  }

  /** Undefined when the server has the level already, or cannot have it. Never rejects. */
  #update(serverId: string): Promise<void> | undefined {
    const { hasLogging, isAwake, request } = this.#deps
    const level = this.#lowestLevel(serverId)
    if (level === undefined || this.#serverLevels.get(serverId) === level) return undefined
    if (!hasLogging(serverId) || !isAwake(serverId)) return undefined
    this.#serverLevels.set(serverId, level)
    // When the server refuses, its messages are still filtered here.
    return request(serverId, 'logging/setLevel', { level: LEVELS[level] }).then(
      () => {},
      () => void this.#serverLevels.delete(serverId),
    )
  }

  #lowestLevel(serverId: string): number | undefined {
    const levels = [...(this.#requests.get(serverId)?.values() ?? [])]
    for (const [subscriber, level] of this.#sessions) if (this.#sees(subscriber, serverId)) levels.push(level)
    return levels.length > 0 ? Math.min(...levels) : undefined
  }

  #sees(subscriber: Subscriber, serverId: string): boolean {
    return this.#deps.serversOf(subscriber).includes(serverId)
  }
}

/** At `/mcp`, the logger name starts with the server id. */
function send(subscriber: Subscriber, serverId: string, params: Params): void {
  const { logger } = params
  const named = typeof logger === 'string' && logger !== '' ? `${serverId}/${logger}` : serverId
  subscriber.notify(
    'notifications/message',
    subscriber.serverId === undefined ? { ...params, logger: named } : params,
  )
}
