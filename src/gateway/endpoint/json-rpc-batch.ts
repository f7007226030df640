import { isUtf8 } from 'node:buffer'
import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { invalidAt, isDeeperThan, MAX_REQUEST_DEPTH } from '../../kernel/json/json-checks.ts'
import { itemsOf } from '../../mcp/protocol/json-items.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { type Incoming, readIncoming } from '../messages/incoming-message.ts'
import { invalidRequest, RpcError } from '../messages/rpc-error.ts'
import { sendJson } from '../messages/rpc-response.ts'
import type { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'

export const BATCH_VERSION = '2025-03-26' // the only revision with JSON-RPC batches
const MAX_MESSAGES = 100
const ARRAY = /^\s*\[/

/** The messages of a batch, as bytes. Undefined when the body is no array. Throws when it is not valid. */
export function batchIn(body: Buffer): Buffer[] | undefined {
  if (!ARRAY.test(body.toString('latin1', 0, 64))) return undefined
  const isTooDeep = isDeeperThan(body, MAX_REQUEST_DEPTH + 1) // the messages are checked one by one
  const isValid = !isTooDeep && isUtf8(body) && invalidAt(body, { start: 0, end: body.length }, true) < 0
  if (!isValid)
    throw new RpcError(CODES.parse, 'The body is not valid JSON, or nested too deeply', { status: 400 })
  return itemsOf(body, 0, MAX_MESSAGES).map(({ start, end }) => body.subarray(start, end))
}

export const noBatches = (version: string | undefined): RpcError =>
  invalidRequest(
    `The body is not a single JSON-RPC 2.0 message. Batches need a session of protocol version ${BATCH_VERSION}; ${
      version === undefined ? 'this request has no session' : `this session uses ${version}`
    }`,
  )

/** The messages of a batch. A message that is not valid is the error that it gets. Throws when there are none or too many. */
export function readBatch(bodies: readonly Buffer[]): (Incoming | RpcError)[] {
  if (bodies.length === 0) throw invalidRequest('The batch is empty')
  if (bodies.length > MAX_MESSAGES)
    throw invalidRequest(`The batch has more than ${MAX_MESSAGES} messages. Send several batches`)
  return bodies.map((body) => {
    try {
      return readIncoming(body)
    } catch (error) {
      if (error instanceof RpcError) return error
      throw error
    }
  })
}

/** Whether a message of a batch gets a response: a request, or one that is not valid. */
export const isAnswered = (message: Incoming | RpcError): boolean =>
  message instanceof RpcError || (message.id !== undefined && message.method !== undefined)

/** The response to a batch: one array, or a stream when other messages precede a response. */
export class BatchReply {
  readonly #response: HttpResponse
  readonly #session: Session
  readonly #answers: Buffer[] = []
  #missing: number
  #stream: EventStream | undefined

  constructor(response: HttpResponse, session: Session, requests: number) {
    this.#response = response
    this.#session = session
    this.#missing = requests
  }

  /** Adds the response to one request. The last one completes the batch. */
  add(message: Buffer): void {
    this.#missing -= 1
    if (this.#stream && this.#missing === 0) this.#session.streams.complete(this.#stream, message)
    else if (this.#stream) this.#stream.send(message)
    else {
      this.#answers.push(message)
      if (this.#missing === 0) sendJson(this.#response, 200, arrayOf(this.#answers))
    }
  }

  /** Turns the response into a stream. Undefined when the client disconnected before. */
  open(): EventStream | undefined {
    if (!this.#stream && this.#response.destroyed) return undefined
    if (!this.#stream) {
      this.#stream = this.#session.streams.openResponse(this.#response)
      for (const answer of this.#answers) this.#stream.send(answer)
    }
    return this.#stream
  }
}

function arrayOf(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message, at) => [Buffer.from(at === 0 ? '[' : ','), message]).concat(Buffer.from(']')),
  )
}
