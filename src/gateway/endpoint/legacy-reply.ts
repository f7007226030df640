import type { ServerResponse } from 'node:http'
import { Cancellation, type CancelSignal } from '../../kernel/cancel.ts'
import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import type { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import { messageOf } from '../sessions/sse-format.ts'
import { sendJson, sendResult } from './json-response.ts'
import { cancelled, errorMessage, type RequestId, RpcError, resultMessage } from './json-rpc.ts'
import { ANSWER_MS, missingCapability } from './missing-capability.ts'

let serverRequests = 0

/**
 * The response to one request of a session: plain JSON, or the last event of a stream when other messages precede it. It is
 * sent exactly once. A lost connection does not cancel the request: the client may reconnect and resume.
 */
export class LegacyReply {
  readonly id: RequestId
  readonly #response: ServerResponse
  readonly #session: Session
  readonly #cancellation = new Cancellation()
  #stream: EventStream | undefined
  #rejections: Set<(error: RpcError) => void> | undefined
  #sent = false

  constructor(id: RequestId, response: ServerResponse, session: Session) {
    this.id = id
    this.#response = response
    this.#session = session
    session.pending.add(id.key, this)
  }

  /** Aborted when the request is cancelled. */
  get signal(): CancelSignal {
    return this.#cancellation
  }

  cancel(): void {
    if (this.#sent) return
    this.fail(cancelled())
    this.#cancellation.abort()
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

  /** Sends a notification before the response, which turns the response into a stream. */
  notify(method: string, params: object): void {
    this.#open()?.notify(messageOf(method, params))
  }

  /** Forwards a server's request to the agent, on the response stream of the agent's request. */
  request(method: string, params: unknown): Promise<unknown> {
    const missing = missingCapability(this.#session.capabilities, method, params)
    if (missing) return Promise.reject(missing)
    const stream = this.#open()
    if (!stream || stream.isLost) return Promise.reject(disconnected())
    stream.onLost = () => this.#reject(disconnected())
    serverRequests += 1
    const id = `toolroom-${serverRequests}`
    return new Promise((resolve, reject) => {
      const pending = this.#session.serverRequests
      const settle = () => {
        clearTimeout(timer)
        pending.delete(id)
        this.#rejections?.delete(fail)
      }
      const fail = (error: RpcError) => {
        settle()
        reject(error)
      }
      const timer = setTimeout(() => fail(noResponse('The agent did not answer in time')), ANSWER_MS)
      pending.set(id, ({ result, error }) => {
        settle()
        if (result !== undefined) resolve(result)
        else reject(isObject(error) ? error : noResponse('The agent sent no result'))
      })
      this.#rejections ??= new Set()
      this.#rejections.add(fail)
      stream.send(messageOf(method, params as object, id))
    })
  }

  /** Undefined when the response was sent, or the client disconnected before the stream began. */
  #open(): EventStream | undefined {
    if (this.#sent || (!this.#stream && this.#response.destroyed)) return undefined
    this.#stream ??= this.#session.streams.openResponse(this.#response)
    return this.#stream
  }

  /** False when the response was sent already. */
  #close(): boolean {
    if (this.#sent) return false
    this.#sent = true
    this.#session.pending.delete(this.id.key)
    if (this.#rejections) this.#reject(noResponse('The request has ended'))
    return true
  }

  #reject(error: RpcError): void {
    for (const reject of this.#rejections ?? []) reject(error)
  }
}

const noResponse = (message: string): RpcError => new RpcError(CODES.internal, message)
const disconnected = (): RpcError => noResponse('The agent has disconnected')
