import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { components, paths } from '../../../web/generated/api.d.ts'
import { type Client, clientOver, type HttpMethod } from '../../api/client/client.ts'
import type { Config } from '../../kernel/config/config.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { VERSION } from '../../kernel/version.ts'
import { HttpClient } from '../../net/http-client.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { Failure, notRunning, notToolroom, tokenRefused, unreachable } from './failure.ts'
import { findAddress, networkFrom, parseAddress } from './service-address.ts'

export type Api = Client<paths>
export type Schemas = components['schemas']

const MAX_BYTES = 64 * MEBIBYTE
/** Reads are answered at once. */
const READ_MS = 15_000
/** Starts, installations and calls have limits of their own in the service. */
const WORK_MS = 15 * 60_000

/** The token in the settings, or in the file of the data folder. */
export function tokenOf({ auth_token, folders }: Config): string | undefined {
  if (auth_token !== undefined) return auth_token
  try {
    return readFileSync(join(folders.data, 'token'), 'utf8').trim()
  } catch {
    return undefined // not generated yet, or not readable
  }
}

interface Sent {
  readonly method: HttpMethod
  readonly path: string
  readonly body?: unknown
  /** Null for a stream that ends by itself. */
  readonly timeoutMs: number | null
  readonly headers?: Readonly<Record<string, string>>
}

/** The REST API of a running service, with the token. */
export class ServiceClient {
  readonly address: string
  /** Typed by the OpenAPI document. */
  readonly api: Api = clientOver((method, path, body) =>
    this.request(method, path, body, method === 'GET' ? READ_MS : WORK_MS),
  )
  readonly #headers: Readonly<Record<string, string>>
  readonly #http: HttpClient

  /** `url`: another service than that of the data folder. The token in the data folder is not sent to it. */
  constructor(url: string | undefined, config: Config) {
    const address = url === undefined ? findAddress(config.folders.data) : parseAddress(url, '--url')
    if (address === undefined) throw notRunning('Toolroom is not running')
    const token = url === undefined ? tokenOf(config) : config.auth_token
    this.address = address
    this.#headers = token === undefined ? {} : { [config.auth_token_header_name]: token }
    const network = networkFrom(config.platform.env)
    this.#http = new HttpClient({ url: new URL(address), userAgent: `toolroom/${VERSION}`, network })
  }

  /** The body of the response. Throws a Failure for any other status than 2xx. */
  async request(
    method: HttpMethod,
    path: string,
    body?: unknown,
    timeoutMs = 5000,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const given = await this.open({ method, path, body, timeoutMs, headers })
    return this.#translated(async () => parsed(await given.read(MAX_BYTES)))
  }

  /** The response before its body is read. Throws a Failure for any other status than 2xx. */
  open({ method, path, body, timeoutMs, headers = {} }: Sent): Promise<HttpResponse> {
    const json = body !== undefined && { body: JSON.stringify(body) }
    const type = body !== undefined && { 'content-type': 'application/json' }
    return this.#translated(async () => {
      const response = await this.#http.request({
        method,
        url: new URL(this.address + path),
        headers: { ...this.#headers, ...type, ...headers },
        timeoutMs,
        firstByteMs: timeoutMs,
        ...json,
      })
      if (response.status < 300) return response
      throw this.refusal(response.status, parsed(await response.read(MAX_BYTES)))
    })
  }

  close(): void {
    this.#http.close()
  }

  /** The failure that a problem of the API stands for. */
  refusal(status: number, problem: unknown): Failure {
    if (!isObject(problem) || typeof problem.detail !== 'string') return notToolroom(this.address)
    if (status === 401) return tokenRefused(this.address)
    const hint = typeof problem.hint === 'string' ? onTheCommandLine(problem.hint) : null
    return new Failure(EXIT_OF[status] ?? 'failed', problem.detail, hint, String(problem.code))
  }

  async #translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof RemoteFailure) throw unreachable(this.address, error)
      throw error instanceof SyntaxError ? notToolroom(this.address) : error
    }
  }
}

/** What a hint of the API names in a request, as a user of the command line writes it. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/, or delete it with \?force=true;.*$/, ''],
  [/\bsend \?force=true/, 'add --force'],
  [/\bor send "create": true/, 'or add --create to toolroom agents connect'],
  [/^Send "via": "gateway"/, 'Use the gateway: toolroom agents connect AGENT'],
  [/\bGET \/api\/(?:http-)?servers\/([^/ ]+)\/tools\b/, 'toolroom tools $1'],
  [/\bStart it in Toolroom: POST \/api\/servers\/([^/ ]+)\/start\b/, 'Start it: toolroom start $1'],
  [/^Send a larger timeout_s, or raise timeouts\.request_s$/, 'Give it more time with --timeout'],
]

export const onTheCommandLine = (hint: string): string =>
  WORDS.reduce((text, [pattern, words]) => text.replace(pattern, words), hint)

const parsed = (text: Buffer): unknown => (text.length === 0 ? null : JSON.parse(text.toString()))

const EXIT_OF: Readonly<Record<number, Failure['exit']>> = {
  404: 'not_found',
  409: 'conflict',
  422: 'usage',
  504: 'timeout',
}
