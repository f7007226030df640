import { AppError, type ErrorCode } from '../../../kernel/errors.ts'
import { type RemoteCode, RemoteFailure } from '../../../net/http-failure.ts'

/** The errors of registry requests. They name the host only: a URL or a header may contain a login. */

const CHECK = "Check the registry with 'npm ping', and this computer's network or proxy"
const RETRY = 'Try again in a moment'

export const registryTimeout = (host: string) =>
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
export function registryFailure(error: unknown, host: string, isReading: boolean): unknown {
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

export const notJson = (host: string) =>
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
