import type { ServerResponse } from 'node:http'
import { Cancellation, type CancelSignal } from '../../kernel/cancel.ts'
import { isObject } from '../../kernel/is-object.ts'
import type { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import { messageOf } from '../sessions/sse-format.ts'
import { ASK_MS, refusalToAsk } from './client-capabilities.ts'
import { sendJson, sendResult } from './json-response.ts'
import { CODES, cancelled, errorMessage, RpcError, resultMessage } from './json-rpc.ts'

let questions = 0

/**
 * The answer to one request of a session: plain JSON, or the last event of a stream when something has to be said before it.
 * Whatever happens it is given once. Who hangs up may only be away: a session says `notifications/cancelled`.
 */
export class Reply {
  readonly id: string | number
  readonly #response: ServerResponse
  readonly #session: Session
  readonly #gone = new Cancellation()
  #stream: EventStream | undefined
  #refusals: Set<(error: RpcError) => void> | undefined
  #given = false

  constructor(id: string | number, response: ServerResponse, session: Session) {
    this.id = id
    this.#response = response
    this.#session = session
    session.open.add(id, this)
  }

  /** Aborted when nobody wants the answer any more. */
  get signal(): CancelSignal {
    return this.#gone
  }

  cancel(): void {
    if (this.#given) return
    this.fail(cancelled())
    this.#gone.abort()
  }

  result(result: Buffer | string): void {
    if (!this.#close()) return
    if (this.#stream) this.#session.streams.complete(this.#stream, resultMessage(this.id, result))
    else sendResult(this.#response, this.id, result)
  }

  fail(error: RpcError): void {
    if (!this.#close()) return
    const message = errorMessage(this.id, error)
    if (this.#stream) this.#session.streams.complete(this.#stream, message)
    else sendJson(this.#response, error.status, message)
  }

  /** Says something before the answer, which makes a stream of it. */
  tell(method: string, params: unknown): void {
    this.#open()?.tell(messageOf(method, params as object))
  }

  /** A question of a server goes to the agent whose request it is working on, over the answer to that request. */
  ask(method: string, params: unknown): Promise<unknown> {
    const refusal = refusalToAsk(this.#session.capabilities, method, params)
    if (refusal) return Promise.reject(refusal)
    const stream = this.#open()
    if (!stream || stream.isLost) return Promise.reject(hungUp())
    stream.onLost = () => this.#refuse(hungUp())
    questions += 1
    const id = `toolroom-${questions}`
    return new Promise((resolve, reject) => {
      const { asked } = this.#session
      const over = () => {
        clearTimeout(late)
        asked.delete(id)
        this.#refusals?.delete(refuse)
      }
      const refuse = (error: RpcError) => {
        over()
        reject(error)
      }
      const late = setTimeout(() => refuse(nothing('The agent did not answer in time')), ASK_MS)
      asked.set(id, ({ result, error }) => {
        over()
        if (result !== undefined) resolve(result)
        else reject(isObject(error) ? error : nothing('The agent gave no answer'))
      })
      this.#refusals ??= new Set()
      this.#refusals.add(refuse)
      stream.say(messageOf(method, params as object, id))
    })
  }

  /** Undefined when it is over, or when nobody was there for its beginning. */
  #open(): EventStream | undefined {
    if (this.#given || (!this.#stream && this.#response.destroyed)) return undefined
    this.#stream ??= this.#session.streams.answer(this.#response)
    return this.#stream
  }

  /** False when it was given already. */
  #close(): boolean {
    if (this.#given) return false
    this.#given = true
    this.#session.open.delete(this.id)
    if (this.#refusals) this.#refuse(nothing('The request is over'))
    return true
  }

  #refuse(error: RpcError): void {
    for (const refuse of this.#refusals ?? []) refuse(error)
  }
}

const nothing = (why: string): RpcError => new RpcError(CODES.internal, why)
const hungUp = (): RpcError => nothing('The agent has hung up')
