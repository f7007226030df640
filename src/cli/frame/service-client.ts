import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpMethod } from '../../client/client.ts'
import type { Config } from '../../config/config.ts'
import { isObject } from '../../kernel/is-object.ts'
import { VERSION } from '../../kernel/version.ts'
import { HttpClient } from '../../net/http-client.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import { Failure, notRunning, notToolroom, tokenRefused, unreachable } from './failure.ts'
import { findAddress, networkFrom, parseAddress } from './service-address.ts'

const MAX_BYTES = 64 * MEBIBYTE

/** The token in the settings, or in the file of the data folder. */
export function tokenOf({ auth_token, folders }: Config): string | undefined {
  if (auth_token !== undefined) return auth_token
  try {
    return readFileSync(join(folders.data, 'token'), 'utf8').trim()
  } catch {
    return undefined // not generated yet, or not readable
  }
}

/** The REST API of a running service, with the token. */
export class ServiceClient {
  readonly #address: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #http: HttpClient

  /** `url`: another service than that of the data folder. The token in the data folder is not sent to it. */
  constructor(url: string | undefined, config: Config) {
    const address = url === undefined ? findAddress(config.folders.data) : parseAddress(url, '--url')
    if (address === undefined) throw notRunning('Toolroom is not running')
    const token = url === undefined ? tokenOf(config) : config.auth_token
    this.#address = address
    this.#headers = token === undefined ? {} : { [config.auth_token_header_name]: token }
    const network = networkFrom(config.platform.env)
    this.#http = new HttpClient({ url: new URL(address), userAgent: `toolroom/${VERSION}`, network })
  }

  get address(): string {
    return this.#address
  }

  /** The body of the response. Throws a Failure for any other status than 2xx. */
  async request(
    method: HttpMethod,
    path: string,
    body?: unknown,
    timeoutMs = 5000,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const json = body !== undefined && { body: JSON.stringify(body) }
    const type = body !== undefined && { 'content-type': 'application/json' }
    try {
      const reply = await this.#http.request({
        method,
        url: new URL(this.#address + path),
        headers: { ...this.#headers, ...type, ...headers },
        timeoutMs,
        firstByteMs: timeoutMs,
        ...json,
      })
      const text = (await reply.read(MAX_BYTES)).toString()
      const given: unknown = text === '' ? null : JSON.parse(text)
      if (reply.status < 300) return given
      throw this.#refusal(reply.status, given)
    } catch (error) {
      if (error instanceof RemoteFailure) throw unreachable(this.#address, error)
      throw error instanceof SyntaxError ? notToolroom(this.#address) : error
    }
  }

  close(): void {
    this.#http.close()
  }

  #refusal(status: number, problem: unknown): Failure {
    if (!isObject(problem) || typeof problem.detail !== 'string') return notToolroom(this.#address)
    if (status === 401) return tokenRefused(this.#address)
    const hint = typeof problem.hint === 'string' ? problem.hint : null
    return new Failure(EXIT_OF[status] ?? 'failed', problem.detail, hint, String(problem.code))
  }
}

const EXIT_OF: Readonly<Record<number, Failure['exit']>> = {
  404: 'not_found',
  409: 'conflict',
  422: 'usage',
  504: 'timeout',
}
