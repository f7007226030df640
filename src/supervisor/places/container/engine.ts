import { existsSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Obstacle } from '../ability.ts'

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

type Query = Readonly<Record<string, string>>

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

const MAX_SAID = 1000

/** What an engine said. The sign for a cut lets a secret be masked of which the end is missing. */
export const shortened = (said: string): string =>
  said.length > MAX_SAID ? `${said.slice(0, MAX_SAID)}…` : said

async function errorOf(response: IncomingMessage): Promise<EngineError> {
  const text = await textOf(response)
  const said = json(text)
  const message = isRecord(said) && typeof said.message === 'string' ? said.message : text
  return new EngineError(response.statusCode ?? 0, shortened(message.trim()))
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

interface EngineInfo {
  readonly name: 'docker' | 'podman'
  readonly version: string | null
}

/** Which engine it is. Rejects with an EngineError. */
export async function engineInfo(engine: Engine, withinMs?: number): Promise<EngineInfo> {
  const said = await engine.get('/version', {}, withinMs)
  const { Components: components = [], Version: version } = isRecord(said) ? said : {}
  const isPodman = JSON.stringify(components).includes('Podman Engine')
  return {
    name: isPodman ? 'podman' : 'docker',
    version: typeof version === 'string' ? version.slice(0, 100) : null,
  }
}

/** An engine of this user, which has no more rights than the user. */
export async function isRootless(engine: Engine): Promise<boolean> {
  const info = await engine.get('/info')
  const options = isRecord(info) && Array.isArray(info.SecurityOptions) ? info.SecurityOptions : []
  return options.some((option) => String(option).includes('rootless'))
}

/** The unix socket of a container engine, or why there is none. */
export type EngineSocket =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly obstacle: Obstacle }

/** `DOCKER_HOST`, else the user's Podman, else Docker. */
export function findEngineSocket(
  env: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
  exists: (path: string) => boolean = existsSync,
): EngineSocket {
  const { DOCKER_HOST: host = '', XDG_RUNTIME_DIR: runtime } = env
  if (host !== '') return named(host)
  const podman = join(runtime ?? `/run/user/${uid ?? 0}`, 'podman/podman.sock')
  const path = [podman, DOCKER].find(exists)
  if (path !== undefined) return { ok: true, path }
  return refused(
    `there is no container engine: neither ${podman} nor ${DOCKER} exists`,
    'Start Docker, or Podman with systemctl --user start podman.socket. DOCKER_HOST names another unix socket',
  )
}

const DOCKER = '/var/run/docker.sock'

function named(host: string): EngineSocket {
  const path = /^unix:\/\/(\/.{1,1000})$/.exec(host)?.[1]
  if (path !== undefined) return { ok: true, path }
  const scheme = /^[a-z]{1,10}(?=:\/\/)/.exec(host)?.[0] ?? 'another kind of address'
  return refused(
    `DOCKER_HOST is ${scheme}, and only a unix socket is used: folders of this computer are not on another one`,
    'Set DOCKER_HOST to unix:// and the path of the socket, or unset it',
  )
}

const refused = (clause: string, remedy: string): EngineSocket => ({
  ok: false,
  obstacle: { clause, remedy },
})
