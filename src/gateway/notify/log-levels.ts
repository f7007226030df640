import { isObject } from '../../kernel/is-object.ts'
import { within } from '../../kernel/within.ts'
import { CODES, RpcError } from '../endpoint/json-rpc.ts'
import type { Hearer, Upstream } from './subscriber.ts'

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
/** So long a request waits until its server knows what is to be said; then it goes without that. */
const TELL_MS = 1000
const UNKNOWN = LEVELS.indexOf('info')

interface Deps extends Upstream {
  readonly hasLog: (serverId: string) => boolean
  readonly visibleServers: (agentType: string) => readonly string[]
}

/** Who hears the logs of which servers, and from which level on. A server is asked for as much as the keenest wants. */
export class LogLevels {
  readonly #deps: Deps
  /** Of sessions, until they end. */
  readonly #sessions = new Map<Hearer, number>()
  /** Of requests that want to hear what is said until they are answered, by server. */
  readonly #requests = new Map<string, Map<Hearer, number>>()
  /** What the process that runs now was told. */
  readonly #told = new Map<string, number>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** For a session, from now on. */
  set(hearer: Hearer, level: unknown): void {
    const index = LEVELS.indexOf(String(level))
    if (index === -1) throw new RpcError(CODES.params, `There is no level ${String(level).slice(0, 40)}`)
    this.#sessions.set(hearer, index)
    this.#tellAll(hearer)
  }

  remove(hearer: Hearer): void {
    if (this.#sessions.delete(hearer)) this.#tellAll(hearer)
  }

  /** Whether a session has said what it wants to hear. */
  has(hearer: Hearer): boolean {
    return this.#sessions.has(hearer)
  }

  /** Until the function it gives is called. Undefined when it wants to hear nothing. */
  async during(serverId: string, hearer: Hearer, level: unknown): Promise<(() => void) | undefined> {
    const index = LEVELS.indexOf(String(level))
    if (index === -1) return undefined
    const hearers = this.#requests.get(serverId) ?? new Map<Hearer, number>()
    this.#requests.set(serverId, hearers.set(hearer, index))
    const told = this.#tell(serverId)
    if (told !== undefined) await within(told, TELL_MS)
    return () => {
      hearers.delete(hearer)
      if (hearers.size === 0) this.#requests.delete(serverId)
    }
  }

  /** A message of a server, to everybody who wants it. */
  heard(serverId: string, params: unknown): void {
    if (!isObject(params)) return
    const known = LEVELS.indexOf(String(params.level))
    const level = known === -1 ? UNKNOWN : known
    for (const [hearer, wanted] of this.#sessions)
      if (level >= wanted && this.#concerns(hearer, serverId)) say(hearer, serverId, params)
    for (const [hearer, wanted] of this.#requests.get(serverId) ?? [])
      if (level >= wanted) say(hearer, serverId, params)
  }

  /** A server that was started knows nothing of what was said to the one before. */
  started(serverId: string): void {
    this.#told.delete(serverId)
    void this.#tell(serverId)
  }

  #tellAll(hearer: Hearer): void {
    for (const serverId of hearer.serverId === undefined ? this.#seen(hearer) : [hearer.serverId])
      void this.#tell(serverId)
  }

  /** Undefined where it knows already, or is not told. Never rejects. */
  #tell(serverId: string): Promise<void> | undefined {
    const { hasLog, isAwake, ask } = this.#deps
    const wanted = this.#keenest(serverId)
    if (wanted === undefined || this.#told.get(serverId) === wanted) return undefined
    if (!hasLog(serverId) || !isAwake(serverId)) return undefined
    this.#told.set(serverId, wanted)
    // One that does not take it goes on as it was, and what it says is sifted here in any case.
    return ask(serverId, 'logging/setLevel', { level: LEVELS[wanted] }).then(
      () => {},
      () => void this.#told.delete(serverId),
    )
  }

  #keenest(serverId: string): number | undefined {
    const levels = [...(this.#requests.get(serverId)?.values() ?? [])]
    for (const [hearer, level] of this.#sessions) if (this.#concerns(hearer, serverId)) levels.push(level)
    return levels.length > 0 ? Math.min(...levels) : undefined
  }

  #concerns(hearer: Hearer, serverId: string): boolean {
    return hearer.serverId === undefined
      ? this.#seen(hearer).includes(serverId)
      : hearer.serverId === serverId
  }

  #seen({ agentType }: Hearer): readonly string[] {
    return this.#deps.visibleServers(agentType)
  }
}

/** Where all servers speak together, the name of the logger says which one it is. */
function say(hearer: Hearer, serverId: string, params: Readonly<Record<string, unknown>>): void {
  const { logger } = params
  const named = typeof logger === 'string' && logger !== '' ? `${serverId}/${logger}` : serverId
  hearer.tell('notifications/message', hearer.serverId === undefined ? { ...params, logger: named } : params)
}
