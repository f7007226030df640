import { createHash, randomBytes } from 'node:crypto'
import { hasMoreValues } from '../../kernel/json/json-checks.ts'
import { sorted } from '../../kernel/json/sorted-keys.ts'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import type { Incoming } from '../messages/incoming-message.ts'
import { ANSWER_MS } from '../sessions/ask-session.ts'
import type { Access } from '../sessions/sessions.ts'
import { invalidState, RequestStates, refused } from './request-states.ts'

/** A call whose server waits for input of the agent. */
interface WaitingCall {
  readonly access: Access
  cancel(): void
}

/** The request of an agent. */
type Asked = Pick<Incoming, 'method' | 'params'>

const MAX_PER_KEY = 100

/** Calls that wait for the input in a modern agent's next request, for a limited time. */
export class PendingInputs<T extends WaitingCall = WaitingCall> {
  readonly #now: () => number
  readonly #waitMs: number
  readonly #states = new RequestStates()
  readonly #pending = new Map<string, { readonly call: T; readonly timer: NodeJS.Timeout }>()

  constructor(now: () => number, waitMs = ANSWER_MS) {
    this.#now = now
    this.#waitMs = waitMs
  }

  /** The `requestState` that the agent has to send back. Undefined when too many calls of this agent wait. */
  add(call: T, message: Asked): string | undefined {
    const { keyId, serverId } = call.access
    let waiting = 0
    for (const { call: each } of this.#pending.values()) if (each.access.keyId === keyId) waiting += 1
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
  take(message: Asked, { keyId, serverId }: Access): T | undefined {
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
    if (!pending) throw refused('This requestState has already been used, or its call has ended')
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

/** A digest of the request, independent of the order of its keys and without what a retry adds. */
function digestOf({ method, params }: Asked, serverId: string | undefined): string {
  const { _meta, inputResponses, requestState, ...rest } = params
  const known = Object.entries(rest).map(([name, value]) => [name, comparable(value)])
  const text = JSON.stringify([serverId ?? null, method, sorted(Object.fromEntries(known))])
  return createHash('sha256').update(text).digest('base64url')
}

/** Of arguments with very many values the text is compared, because sorting their keys takes too long. */
function comparable(value: unknown): unknown {
  if (!(value instanceof RawJson)) return value
  return hasMoreValues(Buffer.from(value.json), MAX_COMPARED_VALUES) ? String(value.json) : value.value
}
const MAX_COMPARED_VALUES = 10_000
