import type { ServerResponse } from 'node:http'
import { Cancellation, type CancelSignal } from '../../kernel/cancel.ts'
import { isObject } from '../../kernel/is-object.ts'
import type { InFlight } from '../../protocol/in-flight.ts'
import type { Drops } from '../notify/drop-counter.ts'
import { EventStream } from '../sessions/event-stream.ts'
import type { Session } from '../sessions/sessions.ts'
import { messageOf } from '../sessions/sse-format.ts'
import { refusalToAsk } from './client-capabilities.ts'
import { sendJson, sendResult } from './json-response.ts'
import { CODES, cancelled, errorMessage, type Incoming, RpcError, resultMessage } from './json-rpc.ts'
import { capabilitiesIn, metaOf } from './modern-requests.ts'
import type { Parking } from './pending-input.ts'

interface Question {
  readonly method: string
  readonly params: unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: RpcError) => void
}

type Outcome = { readonly result: Buffer | string } | { readonly error: RpcError }
type Place = Pick<Session, 'keyId' | 'agentType' | 'serverId'>

interface Around {
  readonly parking: Parking<ModernReply>
  /** Of what was not said because somebody reads too slowly. */
  readonly drops: Drops
  /** All that are under way. */
  readonly underWay: InFlight<ModernReply, ModernReply>
}

/** Only these may be answered with a question. */
const MAY_ASK = ['tools/call', 'prompts/get', 'resources/read']
/** One question at a time, so one name is enough. */
const KEY = '1'
const PROGRESS = 'notifications/progress'

/**
 * The answer to one request of the modern era. Who hangs up cancels it. When a server of the old days asks something in
 * between, the question is the answer, and the call waits for the request that brings what was said to it.
 */
export class ModernReply {
  readonly place: Place
  readonly #around: Around
  readonly #gone = new Cancellation()
  readonly #message: Incoming
  #id: string | number
  #response: ServerResponse | undefined
  #stream: EventStream | undefined
  #questions: Question[] | undefined
  /** The token of the request that waits now, when it is not the first. */
  #token: { readonly progressToken: unknown } | undefined
  #outcome: Outcome | undefined
  #over = false

  constructor(
    message: Incoming,
    id: string | number,
    response: ServerResponse,
    place: Place,
    around: Around,
  ) {
    this.#message = message
    this.#id = id
    this.place = place
    this.#around = around
    around.underWay.add(this, this)
    this.#attach(response)
  }

  /** Aborted when nobody wants the answer any more. */
  get signal(): CancelSignal {
    return this.#gone
  }

  cancel(): void {
    if (this.#over) return
    const refused = this.#questions ?? []
    if (this.#response && !this.#response.destroyed) this.#give({ error: cancelled() })
    else this.#close()
    for (const { reject } of refused) reject(new RpcError(CODES.internal, 'The agent gave no answer'))
    this.#gone.abort()
  }

  result(result: Buffer | string): void {
    this.#settle({ result })
  }

  fail(error: RpcError): void {
    this.#settle({ error })
  }

  /** Says something before the answer, which makes a stream of it. While nobody waits for it nobody hears it. */
  tell(method: string, params: unknown): void {
    const response = this.#response
    if (this.#over || !response || response.destroyed) return
    const isProgress = method === PROGRESS && this.#token !== undefined
    if (isProgress && this.#token?.progressToken === undefined) return
    this.#stream ??= new EventStream(response, this.#around.drops)
    this.#stream.tell(
      messageOf(method, isProgress ? { ...(params as object), ...this.#token } : (params as object)),
    )
  }

  ask(method: string, params: unknown): Promise<unknown> {
    const about = this.#message
    const can = MAY_ASK.includes(about.method ?? '') ? capabilitiesIn(about.params) : {}
    const refusal = refusalToAsk(can, method, params)
    if (refusal || this.#over) return Promise.reject(refusal ?? cancelled())
    return new Promise((resolve, reject) => {
      this.#questions ??= []
      this.#questions.push({ method, params, resolve, reject })
      if (this.#questions.length === 1) this.#present()
    })
  }

  /** The request comes again, with what was said to the question. Without that it is asked once more. */
  resume({ params }: Incoming, id: string | number, response: ServerResponse): void {
    this.#id = id
    this.#token = { progressToken: metaOf(params).progressToken }
    this.#attach(response)
    if (this.#outcome) {
      this.#give(this.#outcome)
      return
    }
    const { inputResponses } = params
    const answer = isObject(inputResponses) ? inputResponses[KEY] : undefined
    if (isObject(answer)) this.#questions?.shift()?.resolve(answer)
    this.#present()
  }

  #attach(response: ServerResponse): void {
    this.#response = response
    response.on('close', () => {
      if (this.#response === response) this.cancel()
    })
  }

  /** Answers with the first question, and parks the call. */
  #present(): void {
    const question = this.#questions?.[0]
    if (!question || !this.#response) return
    const requestState = this.#around.parking.park(this, this.#message)
    if (requestState === undefined) {
      this.#questions?.shift()
      question.reject(new RpcError(CODES.internal, 'Too many questions wait for this agent'))
      this.#present()
      return
    }
    const { method, params } = question
    const inputRequests = { [KEY]: { method, ...(params !== undefined && { params }) } }
    this.#send({ result: JSON.stringify({ resultType: 'input_required', inputRequests, requestState }) })
  }

  #settle(outcome: Outcome): void {
    if (this.#over || this.#outcome) return
    if (this.#response) this.#give(outcome)
    else this.#outcome = outcome
  }

  #give(outcome: Outcome): void {
    this.#close()
    this.#send(outcome)
  }

  #close(): void {
    this.#over = true
    this.#around.underWay.delete(this)
    if (this.#questions) this.#around.parking.forget(this)
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

const messageWith = (id: string | number, outcome: Outcome): Buffer =>
  'result' in outcome ? resultMessage(id, outcome.result) : errorMessage(id, outcome.error)
