import { VERSION } from '../../../kernel/version.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { HttpClient } from '../../../net/http-client.ts'
import { MEBIBYTE } from '../../../net/http-failure.ts'
import { notJson, registryFailure, registryTimeout } from './registry-errors.ts'

export interface JsonRequest {
  readonly accept: string
  /** Called for each URL of the registry's origin. Other origins, reached by a redirect, never receive a login. */
  readonly authorizationFor: (url: string) => string | undefined
  readonly deadline: Deadline
  readonly network?: Partial<Network> | undefined
  /** Keeps connections open for further requests. Without it, the connection is closed. */
  readonly client?: HttpClient | undefined
}

/** Ends one question to a registry, which may take several requests. */
export interface Deadline {
  /** Aborts with `timeout`, or when the caller cancels. */
  readonly signal: AbortSignal
  readonly timeout: AbortSignal
}

export interface JsonResponse {
  readonly status: number
  /** Undefined when the body of an error response is not JSON. */
  readonly json: unknown
  readonly host: string
}

const MAX_MIB = 20

export function deadlineIn(ms: number, signal?: AbortSignal): Deadline {
  const timeout = AbortSignal.timeout(ms)
  return { timeout, signal: signal ? AbortSignal.any([signal, timeout]) : timeout }
}

/** GET a JSON document. Rejects with an AppError, or with the reason of the caller's signal. */
export async function getJson(url: URL, request: JsonRequest): Promise<JsonResponse> {
  const { accept, deadline } = request
  const { signal, timeout } = deadline
  const client = request.client ?? clientFor(url, request)
  let isReading = false
  try {
    const limits = { timeoutMs: null, firstByteMs: null, signal }
    const response = await client.request({ method: 'GET', url, headers: { accept }, ...limits })
    const { status } = response
    const { host } = response.url
    isReading = true
    return { status, json: parsed(await response.read(MAX_MIB * MEBIBYTE), status, host), host }
  } catch (error) {
    if (timeout.aborted) throw registryTimeout(url.host)
    throw signal.aborted ? signal.reason : registryFailure(error, url.host, isReading)
  } finally {
    if (!request.client) client.close()
  }
}

/** A client for the registry at this URL. */
export const clientFor = (
  url: URL,
  { authorizationFor, network }: Pick<JsonRequest, 'authorizationFor' | 'network'>,
): HttpClient =>
  new HttpClient({
    url,
    authorizationFor: ({ href }) => authorizationFor(href),
    userAgent: `toolroom/${VERSION}`,
    crossOrigin: true,
    network,
  })

function parsed(body: Buffer, status: number, host: string): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    if (status === 200) throw notJson(host) // without the cause, which quotes the body
    return undefined
  }
}
