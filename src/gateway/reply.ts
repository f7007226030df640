import type { ServerResponse } from 'node:http'
import { writeEvent } from './listeners.ts'
import { CODES, errorMessage, isObject, RpcError, resultMessage } from './rpc.ts'
import type { Session } from './sessions.ts'
import { SSE } from './sse.ts'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

const ASKABLE: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}
let questions = 0

/**
 * The answer to one request: plain JSON, or the last event of a stream when something has to be said before it. Whatever
 * happens it is given once.
 */
export class Reply {
  readonly id: string | number
  readonly #response: ServerResponse
  readonly #session: Session | undefined
  readonly #gone = new AbortController()
  #given = false

  /** In the modern era whoever hangs up cancels; a session says `notifications/cancelled`, and may only be away. */
  constructor(id: string | number, response: ServerResponse, session: Session | undefined) {
    this.id = id
    this.#response = response
    this.#session = session
    if (session) session.open.set(id, this)
    else response.on('close', () => this.cancel())
  }

  /** Aborted when nobody wants the answer any more. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  cancel(): void {
    if (!this.#given) this.#gone.abort()
  }

  result(result: Buffer | string): void {
    this.#give(200, resultMessage(this.id, result))
  }

  fail(error: RpcError): void {
    this.#give(error.status, errorMessage(this.id, error))
  }

  /** Says something before the answer, which makes a stream of it. */
  tell(method: string, params: unknown, id?: string): void {
    const response = this.#response
    if (this.#given || response.destroyed) return
    if (!response.headersSent) response.writeHead(200, SSE)
    writeEvent(response, method, params as object, id)
  }

  /** A question of a server goes to the agent whose request it is working on, over the answer to that request. */
  ask(method: string, params: unknown): Promise<unknown> {
    const session = this.#session
    const needs = Object.hasOwn(ASKABLE, method) ? ASKABLE[method] : undefined
    if (!session || needs === undefined || session.capabilities[needs] === undefined)
      return Promise.reject(
        new RpcError(CODES.method, `The agent cannot be asked for ${method.slice(0, 100)}`),
      )
    questions += 1
    const id = `toolroom-${questions}`
    return new Promise((resolve, reject) => {
      const over = () => session.asked.delete(id)
      session.asked.set(id, ({ result, error }) => {
        over()
        if (result !== undefined) resolve(result)
        else reject(isObject(error) ? error : new RpcError(CODES.internal, 'The agent gave no answer'))
      })
      this.#response.once('close', () => {
        if (over()) reject(new RpcError(CODES.internal, 'The agent has hung up'))
      })
      this.tell(method, params, id)
    })
  }

  #give(status: number, message: Buffer): void {
    if (this.#given) return
    this.#given = true
    this.#session?.open.delete(this.id)
    const response = this.#response
    if (!response.headersSent) {
      sendJson(response, status, message)
      return
    }
    response.write('event: message\ndata: ')
    response.write(message)
    response.end('\n\n')
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...JSON_TYPE, ...headers, 'content-length': body.length }).end(body)
}
