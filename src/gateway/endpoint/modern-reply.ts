import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { Cancellation, type CancelSignal } from '../../kernel/light-abort-controller.ts'
import { InFlight } from '../../mcp/client/pending-requests.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { bytesIn, isObjectJson, memberOf, withMembers } from '../../mcp/protocol/raw-json.ts'
import { type Incoming, rawParam, rawParams } from '../messages/incoming-message.ts'
import { cancelled, type RequestId, RpcError } from '../messages/rpc-error.ts'
import { errorMessage, resultMessage, sendJson, sendResult } from '../messages/rpc-response.ts'
import { progressTokenIn } from '../notify/request-context.ts'
import { MAX_SERVER_REQUESTS, missingCapability, tooManyRequests } from '../sessions/ask-session.ts'
import { DropCounter, EventStream, messageOf } from '../sessions/event-stream.ts'
import type { Access } from '../sessions/sessions.ts'
import { ENTRY_BYTES, type KeptBytes } from '../sessions/sessions.ts'
import { capabilitiesIn } from './modern-fields.ts'
import { PendingInputs } from './pending-input.ts'

/** A server's request that the agent has to answer. */
interface InputRequest {
  readonly method: string
  readonly params: unknown
  readonly resolve: (response: unknown) => void
  readonly reject: (error: RpcError) => void
}

type Outcome = { readonly result: Buffer | string } | { readonly error: RpcError }

/** Only these methods may be answered with `input_required`. */
const MAY_REQUIRE_INPUT = ['tools/call', 'prompts/get', 'resources/read']
/** One input request at a time, so its key is constant. */
const KEY = '1'
const PROGRESS = 'notifications/progress'
/** Of the notifications that arrive between two requests; more of them, and larger ones, are dropped. */
const MAX_KEPT = 20
const MAX_KEPT_BYTES = 4096

/** The pending requests of modern agents, including those that wait for input. */
export class ModernReplies {
  readonly pendingInputs: PendingInputs<ModernReply>
  readonly pending = new InFlight<ModernReply, ModernReply>()
  readonly drops: DropCounter
  readonly kept: KeptBytes

  /** `onDropped`: notifications were dropped because an agent reads too slowly. */
  constructor(now: () => number, onDropped: (count: number) => void, kept: KeptBytes) {
    this.kept = kept
    this.pendingInputs = new PendingInputs(now)
    this.drops = new DropCounter(onDropped)
  }

  /** Undefined when the request has the input for a pending call, which continues. */
  open(message: Incoming, id: RequestId, response: HttpResponse, access: Access): ModernReply | undefined {
    if (message.params.requestState !== undefined) {
      const pending = this.pendingInputs.take(message, access)
      pending?.resume(message, id, response)
      if (pending) return undefined
    }
    this.kept.take(access.keyId, ENTRY_BYTES + message.body.length)
    return new ModernReply(message, id, response, access, this)
  }

  /** Cancels all requests, or those of one key. */
  close(keyId?: string): void {
    for (const reply of this.pending.values())
      if (keyId === undefined || reply.access.keyId === keyId) reply.cancel()
  }
}

/**
 * The response to one modern request. A disconnect cancels the request. When a legacy server sends a request meanwhile, the
 * response is `input_required`, and the call waits for the agent's next request, which has the answer.
 */
export class ModernReply {
  readonly access: Access
  readonly #all: ModernReplies
  readonly #cancellation = new Cancellation()
  readonly #message: Incoming
  #id: RequestId
  #response: HttpResponse | undefined
  #stream: EventStream | undefined
  #inputRequests: InputRequest[] | undefined
  /** Notifications that arrived between two requests. */
  #kept: (() => void)[] | undefined
  /** The progress token of the current request, when it is not the first. */
  #token: { readonly progressToken: unknown } | undefined
  #outcome: Outcome | undefined
  #ended = false
  /** What is counted for it. */
  #keptBytes: number

  constructor(message: Incoming, id: RequestId, response: HttpResponse, access: Access, all: ModernReplies) {
    this.#message = message
    this.#id = id
    this.access = access
    this.#all = all
    this.#keptBytes = ENTRY_BYTES + message.body.length
    all.pending.add(this, this)
    this.#attach(response)
  }

  /** Aborted when the request is cancelled. */
  get signal(): CancelSignal {
    return this.#cancellation
  }

  cancel(): void {
    if (this.#ended) return
    const unanswered = this.#inputRequests ?? []
    if (this.#response && !this.#response.destroyed) this.#finish({ error: cancelled() })
    else this.#close()
    for (const { reject } of unanswered) reject(new RpcError(CODES.internal, 'The agent sent no answer'))
    this.#cancellation.abort()
  }

  result(result: Buffer | string): void {
    this.#settle({ result })
  }

  fail(error: RpcError): void {
    this.#settle({ error })
  }

  /** Sends a notification before the response, which turns the response into a stream. Between two requests it waits. */
  notify(method: string, params: object): void {
    const response = this.#response
    if (this.#ended || response?.destroyed) return
    if (!response) {
      this.#kept ??= []
      if (this.#kept.length === MAX_KEPT || bytesIn(params) > MAX_KEPT_BYTES) this.#all.drops.add()
      else this.#kept.push(() => this.notify(method, params))
      return
    }
    const isProgress = method === PROGRESS && this.#token !== undefined
    if (isProgress && this.#token?.progressToken === undefined) return
    this.#stream ??= new EventStream(response, this.#all.drops)
    this.#stream.notify(messageOf(method, isProgress ? withMembers(params, { ...this.#token }) : params))
  }

  /** Forwards a server's request to the agent, as `input_required`. */
  request(method: string, params: unknown): Promise<unknown> {
    const own = this.#message
    const capabilities = MAY_REQUIRE_INPUT.includes(own.method ?? '') ? capabilitiesIn(own.params) : {}
    const missing = missingCapability(capabilities, method, params)
    if (missing || this.#ended) return Promise.reject(missing ?? cancelled())
    if ((this.#inputRequests?.length ?? 0) >= MAX_SERVER_REQUESTS) return Promise.reject(tooManyRequests())
    try {
      this.#keep(bytesIn(params))
    } catch (error) {
      return Promise.reject(error)
    }
    return new Promise((resolve, reject) => {
      this.#inputRequests ??= []
      this.#inputRequests.push({ method, params, resolve, reject })
      if (this.#inputRequests.length === 1) this.#requireInput()
    })
  }

  /** Continues with the agent's next request. If it has no answer, the same input is required again. */
  resume(message: Incoming, id: RequestId, response: HttpResponse): void {
    this.#id = id
    this.#token = { progressToken: progressTokenIn(rawParams(message)) }
    this.#attach(response)
    const kept = this.#kept ?? []
    this.#kept = undefined
    for (const send of kept) send()
    if (this.#outcome) {
      this.#finish(this.#outcome)
      return
    }
    const answer = memberOf(rawParam(message, 'inputResponses'), KEY)
    if (isObjectJson(answer)) this.#inputRequests?.shift()?.resolve(answer)
    this.#requireInput()
  }

  #attach(response: HttpResponse): void {
    this.#response = response
    response.on('close', () => {
      if (this.#response === response) this.cancel()
    })
  }

  /** Responds with the first input request, and keeps the call until the agent has answered. */
  #requireInput(): void {
    const inputRequest = this.#inputRequests?.[0]
    if (!inputRequest || !this.#response) return
    const requestState = this.#all.pendingInputs.add(this, this.#message)
    if (requestState === undefined) {
      this.#inputRequests?.shift()
      inputRequest.reject(
        new RpcError(CODES.internal, 'Too many calls are waiting for input from this agent'),
      )
      this.#requireInput()
      return
    }
    const { method, params } = inputRequest
    const inputRequests = { [KEY]: { method, ...(params !== undefined && { params }) } }
    this.#send({ result: JSON.stringify({ resultType: 'input_required', inputRequests, requestState }) })
  }

  #settle(outcome: Outcome): void {
    if (this.#ended || this.#outcome) return
    if (this.#response) {
      this.#finish(outcome)
      return
    }
    try {
      this.#keep('result' in outcome ? outcome.result.length : 0)
      this.#outcome = outcome
    } catch (error) {
      this.#outcome = { error: error as RpcError }
    }
  }

  /** Counts what is kept until the agent's next request. Throws when it is too much. */
  #keep(bytes: number): void {
    this.#all.kept.take(this.access.keyId, bytes)
    this.#keptBytes += bytes
  }

  #finish(outcome: Outcome): void {
    this.#close()
    this.#send(outcome)
  }

  #close(): void {
    this.#ended = true
    this.#all.kept.free(this.access.keyId, this.#keptBytes)
    this.#all.pending.delete(this)
    if (this.#inputRequests) this.#all.pendingInputs.remove(this)
  }

  #send(outcome: Outcome): void {
    const response = this.#response
    const stream = this.#stream
    this.#response = undefined
    this.#stream = undefined
    if (stream) stream.end(messageWith(this.#id, outcome))
    else if (!response) return
    else if ('result' in outcome) sendResult(response, this.#id, outcome.result)
    else sendJson(response, outcome.error.status, errorMessage(this.#id, outcome.error))
  }
}

const messageWith = (id: RequestId, outcome: Outcome): Buffer =>
  'result' in outcome ? resultMessage(id, outcome.result) : errorMessage(id, outcome.error)
