import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'

/** Old enough for Docker 20.10 and Podman 4. */
const VERSION = '/v1.41'
const ANSWER_MS = 60_000
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** The engine answered with an error, or did not answer. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  /** 0: no answer. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type Query = Readonly<Record<string, string>>

/** The Engine API of Docker and Podman, over its unix socket. Every request is a connection of its own. */
export class Engine {
  readonly #socketPath: string

  constructor(socketPath: string) {
    this.#socketPath = socketPath
  }

  get(path: string, query?: Query, withinMs?: number): Promise<unknown> {
    return this.#ask('GET', path, query, undefined, withinMs)
  }

  post(path: string, query?: Query, body?: unknown): Promise<unknown> {
    return this.#ask('POST', path, query, body)
  }

  async delete(path: string, query?: Query): Promise<void> {
    await this.#ask('DELETE', path, query)
  }

  /** Resolves when the engine has accepted the request. The answer may take for ever: it ends with `signal`. */
  async open(method: string, path: string, query: Query, signal?: AbortSignal): Promise<IncomingMessage> {
    const asked = this.#request(method, path, query)
    if (signal?.aborted) asked.destroy()
    signal?.addEventListener('abort', () => asked.destroy(), { once: true })
    asked.end()
    const response = await answerTo(asked)
    if (isError(response)) throw await errorOf(response)
    return response
  }

  /** The connection becomes the standard streams of the container. */
  async hijack(path: string, query: Query): Promise<{ readonly socket: Socket; readonly head: Buffer }> {
    const asked = this.#request('POST', path, query, { connection: 'Upgrade', upgrade: 'tcp' })
    asked.end()
    return new Promise((resolve, reject) => {
      asked.once('upgrade', (_response, socket: Socket, head) => resolve({ socket, head }))
      answerTo(asked).then(async (response) => {
        reject(await errorOf(response))
      }, reject)
    })
  }

  async #ask(
    method: string,
    path: string,
    query: Query = {},
    body?: unknown,
    withinMs = ANSWER_MS,
  ): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const asked = this.#request(method, path, query, {
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    })
    asked.setTimeout(withinMs, () => asked.destroy(new Error(`no answer within ${withinMs / 1000} s`)))
    asked.end(text)
    const response = await answerTo(asked)
    if (isError(response)) throw await errorOf(response)
    return json(await textOf(response))
  }

  #request(method: string, path: string, query: Query, headers: Record<string, string | number> = {}) {
    const search = new URLSearchParams(query)
    return request({
      socketPath: this.#socketPath,
      agent: false,
      method,
      path: `${VERSION}${path}${search.size > 0 ? `?${search}` : ''}`,
      headers: { host: 'engine', ...headers },
    })
  }
}

const isError = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 400

function answerTo(asked: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asked.once('response', resolve)
    asked.once('error', (error) => reject(new EngineError(0, error.message)))
  })
}

async function errorOf(response: IncomingMessage): Promise<EngineError> {
  const text = await textOf(response)
  const said = json(text)
  const message = isRecord(said) && typeof said.message === 'string' ? said.message : text
  return new EngineError(response.statusCode ?? 0, message.trim().slice(0, 1000))
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_ANSWER_BYTES) throw new EngineError(0, 'The answer of the container engine is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function json(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined // not JSON: nothing of it is needed
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
