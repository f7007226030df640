import { randomBytes } from 'node:crypto'
import { CODES } from '../../protocol/codes.ts'
import type { Session } from '../sessions/sessions.ts'
import { ANSWER_MS } from './client-capabilities.ts'
import { type Incoming, RpcError } from './json-rpc.ts'
import { digestOf, invalidState, RequestStates } from './request-state.ts'

/** A call whose server waits for input of the agent. */
interface WaitingCall {
  readonly place: Pick<Session, 'keyId' | 'serverId'>
  cancel(): void
}

interface Pending<T> {
  readonly call: T
  readonly timer: NodeJS.Timeout
}

const MAX_PER_KEY = 100

interface Options {
  readonly now: () => number
  readonly waitMs?: number
}

/** Calls that wait for the input in a modern agent's next request, for a limited time. */
export class PendingInputs<T extends WaitingCall = WaitingCall> {
  readonly #now: () => number
  readonly #waitMs: number
  readonly #states = new RequestStates()
  readonly #pending = new Map<string, Pending<T>>()

  constructor({ now, waitMs = ANSWER_MS }: Options) {
    this.#now = now
    this.#waitMs = waitMs
  }

  /** The `requestState` that the agent has to send back. Undefined when too many calls of this agent wait. */
  add(call: T, message: Incoming): string | undefined {
    const { keyId, serverId } = call.place
    let waiting = 0
    for (const { call: each } of this.#pending.values()) if (each.place.keyId === keyId) waiting += 1
    if (waiting >= MAX_PER_KEY) return undefined
    const id = randomBytes(9).toString('base64url')
    const timer = setTimeout(() => {
      this.#pending.delete(id)
      call.cancel()
    }, this.#waitMs).unref()
    this.#pending.set(id, { call, timer })
    const expiresAt = this.#now() + this.#waitMs
    return this.#states.sign({ id, keyId, expiresAt, digest: digestOf(message, serverId) })
  }

  /** The call that a request continues. Undefined when its `requestState` is not ours. Throws when it is not valid. */
  take(message: Incoming, { keyId, serverId }: WaitingCall['place']): T | undefined {
    const { requestState } = message.params
    if (typeof requestState !== 'string') return undefined
    const state = this.#states.verify(requestState)
    if (!state) return undefined
    if (state.keyId !== keyId) throw invalidState()
    if (state.digest !== digestOf(message, serverId))
      throw refused('This requestState belongs to another request')
    if (state.expiresAt <= this.#now())
      throw refused('This requestState has expired. Send the call again without it')
    const pending = this.#pending.get(state.id)
    if (!pending) throw refused('This requestState was used already, or its call has ended')
    clearTimeout(pending.timer)
    this.#pending.delete(state.id)
    return pending.call
  }

  remove(call: T): void {
    for (const [id, { call: each, timer }] of this.#pending) {
      if (each !== call) continue
      clearTimeout(timer)
      this.#pending.delete(id)
    }
  }
}

const refused = (why: string): RpcError => new RpcError(CODES.params, why)
