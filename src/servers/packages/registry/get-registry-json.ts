import type { ErrorCode } from '../../../kernel/error-catalogue.ts'
import { AppError } from '../../../kernel/errors.ts'
import { VERSION } from '../../../kernel/version.ts'
import type { Network } from '../../../net/connection-pool.ts'
import { HttpClient } from '../../../net/http-client.ts'
import { MEBIBYTE, type RemoteCode, RemoteFailure } from '../../../net/http-failure.ts'

interface JsonRequest {
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

/** The errors of registry requests. They name the host only: a URL or a header may contain a login. */

const CHECK = "Check the registry with 'npm ping', and this computer's network or proxy"
const RETRY = 'Try again in a moment'

const registryTimeout = (host: string) =>
  new AppError('registry_timeout', `The registry ${host} did not respond in time`, { hint: CHECK })

/** Failures after which a part of the response may have arrived, or that are about its content. */
const RESPONSE_FAILURES: readonly RemoteCode[] = [
  'redirect_refused',
  'too_many_redirects',
  'response_too_large',
]
/** Failures with a hint that helps for registries too. */
const HELPFUL: readonly RemoteCode[] = ['tls_failed', 'proxy_failed']

/** `members.too_large` marks a response that is too large, so that the abbreviated form can be requested. */
function registryFailure(error: unknown, host: string, isReading: boolean): unknown {
  if (!(error instanceof RemoteFailure)) return error
  const { code, message, hint } = error
  if (code === 'connect_timeout') return registryTimeout(host)
  const isResponse = isReading || RESPONSE_FAILURES.includes(code)
  const [kind, what]: [ErrorCode, string] = isResponse
    ? ['registry_failed', `The registry ${host} failed`]
    : ['registry_unreachable', `The registry ${host} cannot be reached`]
  return new AppError(kind, `${what}: ${message}`, {
    hint: HELPFUL.includes(code) ? hint : isReading ? RETRY : CHECK,
    ...(code === 'response_too_large' && { members: { too_large: true } }),
  })
}

const notJson = (host: string) =>
  new AppError('registry_failed', `The response from the registry ${host} is not JSON`, {
    hint: 'It may be the sign-in page of a network or a proxy: open the registry in a browser to see it',
  })

export const notAPackage = (host: string, name: string) =>
  new AppError('registry_failed', `The response from the registry ${host} does not describe '${name}'`, {
    hint: "Check npm's 'registry' setting",
  })

export const notAList = (host: string) =>
  new AppError('registry_failed', `The response from ${host} is not a list of MCP servers`, {
    hint: 'Check the address of the MCP Registry',
  })

/** For every status except 200 and those that the caller handles. */
export function statusError(status: number, host: string): AppError {
  if (status === 401 || status === 403) {
    return new AppError('registry_refused', `The registry ${host} requires a login, or rejects yours`, {
      hint: "Sign in with 'npm login', or check the token in your .npmrc",
    })
  }
  const hint = status >= 500 || status === 429 ? RETRY : "Check npm's 'registry' setting"
  return new AppError('registry_failed', `The registry ${host} answered with status ${status}`, { hint })
}
