import { randomBytes } from 'node:crypto'
import type { Session } from '../sessions/sessions.ts'
import { ASK_MS } from './client-capabilities.ts'
import { CODES, type Incoming, RpcError } from './json-rpc.ts'
import { digestOf, notOurs, RequestStates } from './request-state.ts'

/** A call whose server waits for an answer of the agent. */
interface Parkable {
  readonly place: Pick<Session, 'keyId' | 'serverId'>
  cancel(): void
}

interface Parked<T> {
  readonly call: T
  readonly late: NodeJS.Timeout
}

const MOST_PER_KEY = 100

interface Options {
  readonly now: () => number
  readonly parkMs?: number
}

/** Calls that wait for the next request of a modern agent. Each waits once, and not for ever. */
export class Parking<T extends Parkable = Parkable> {
  readonly #now: () => number
  readonly #parkMs: number
  readonly #states = new RequestStates()
  readonly #parked = new Map<string, Parked<T>>()

  constructor({ now, parkMs = ASK_MS }: Options) {
    this.#now = now
    this.#parkMs = parkMs
  }

  /** The state that the agent has to bring. Undefined when too many wait for this agent. */
  park(call: T, message: Incoming): string | undefined {
    const { keyId, serverId } = call.place
    let waiting = 0
    for (const { call: each } of this.#parked.values()) if (each.place.keyId === keyId) waiting += 1
    if (waiting >= MOST_PER_KEY) return undefined
    const id = randomBytes(9).toString('base64url')
    const late = setTimeout(() => {
      this.#parked.delete(id)
      call.cancel()
    }, this.#parkMs).unref()
    this.#parked.set(id, { call, late })
    const expiresAt = this.#now() + this.#parkMs
    return this.#states.seal({ id, keyId, expiresAt, digest: digestOf(message, serverId) })
  }

  /** The call that this request is meant for; undefined when its state is not for us. Throws when it may not have it. */
  take(message: Incoming, { keyId, serverId }: Parkable['place']): T | undefined {
    const { requestState } = message.params
    if (typeof requestState !== 'string') return undefined
    const stated = this.#states.open(requestState)
    if (!stated) return undefined
    if (stated.keyId !== keyId) throw notOurs()
    if (stated.digest !== digestOf(message, serverId))
      throw refused('This requestState was given for another request')
    if (stated.expiresAt <= this.#now()) throw refused('The time to answer is over: make the call again')
    const parked = this.#parked.get(stated.id)
    if (!parked) throw refused('This requestState was used already, or its call is over')
    clearTimeout(parked.late)
    this.#parked.delete(stated.id)
    return parked.call
  }

  forget(call: T): void {
    for (const [id, { call: each, late }] of this.#parked) {
      if (each !== call) continue
      clearTimeout(late)
      this.#parked.delete(id)
    }
  }
}

const refused = (why: string): RpcError => new RpcError(CODES.params, why)
