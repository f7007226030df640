import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { Cancellation, type CancelSignal } from '../../kernel/light-abort-controller.ts'
import { cancelled, type RequestId, type RpcError } from '../messages/rpc-error.ts'
import { errorMessage, resultMessage, sendJson, sendResult } from '../messages/rpc-response.ts'
import { askSession, disconnected, missingCapability, noResponse } from '../sessions/ask-session.ts'
import { type EventStream, messageOf } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import type { BatchReply } from './json-rpc-batch.ts'

/**
 * The response to one request of a session: plain JSON, or the last event of a stream when other messages precede it. It is
 * sent exactly once. A lost connection does not cancel the request: the client may reconnect and resume.
 */
export class LegacyReply {
  readonly id: RequestId
  readonly #response: HttpResponse
  readonly #session: Session
  readonly #batch: BatchReply | undefined
  readonly #cancellation = new Cancellation()
  #stream: EventStream | undefined
  #rejections: Set<(error: RpcError) => void> | undefined
  #sent = false
  readonly #onClose: () => void

  /** `onClose`: called once. `batch`: that the request is part of. */
  constructor(
    id: RequestId,
    response: HttpResponse,
    session: Session,
    onClose: () => void,
    batch?: BatchReply,
  ) {
    this.id = id
    this.#onClose = onClose
    this.#batch = batch
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
    if (this.#batch) this.#batch.add(resultMessage(this.id, result))
    else if (this.#stream) this.#session.streams.complete(this.#stream, resultMessage(this.id, result))
    else sendResult(this.#response, this.id, result)
  }

  fail(error: RpcError): void {
    if (!this.#close()) return
    const message = errorMessage(this.id, error)
    if (this.#batch) this.#batch.add(message)
    else if (this.#stream) this.#session.streams.complete(this.#stream, message)
    else sendJson(this.#response, error.status, message)
  }

  /** Sends a notification before the response, which turns the response into a stream. */
  notify(method: string, params: object): void {
    this.#open()?.notify(messageOf(method, params))
  }

  /** Forwards a server's request to the agent, on the response stream of the agent's request. */
  async request(method: string, params: unknown): Promise<unknown> {
    const missing = missingCapability(this.#session.capabilities, method, params)
    if (missing) throw missing // before the response becomes a stream
    const stream = this.#open()
    const { response, reject } = askSession(this.#session, stream, method, params)
    if (stream) stream.onLost = () => this.#reject(disconnected())
    this.#rejections ??= new Set()
    this.#rejections.add(reject)
    try {
      return await response
    } finally {
      this.#rejections.delete(reject)
    }
  }

  /** Undefined when the response was sent, or the client disconnected before the stream began. */
  #open(): EventStream | undefined {
    if (this.#sent || (!this.#stream && this.#response.destroyed)) return undefined
    this.#stream ??= this.#batch ? this.#batch.open() : this.#session.streams.openResponse(this.#response)
    return this.#stream
  }

  /** False when the response was sent already. */
  #close(): boolean {
    if (this.#sent) return false
    this.#sent = true
    this.#session.pending.delete(this.id.key)
    this.#onClose()
    if (this.#rejections) this.#reject(noResponse('The request has ended'))
    return true
  }

  #reject(error: RpcError): void {
    for (const reject of this.#rejections ?? []) reject(error)
  }
}
