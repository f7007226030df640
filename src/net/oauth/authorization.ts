import { timingSafeEqual } from 'node:crypto'
import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from 'oauth4webapi'
import type { IssuerInfo } from './issuer-metadata.ts'
import type { OAuthClient } from './oauth-clients.ts'
import { meaningOf, OAuthFailure, refusal } from './oauth-failure.ts'

interface Request {
  readonly issuer: IssuerInfo
  readonly client: OAuthClient
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** As the server writes it. Null: it names none. */
  readonly resource: string | null
}

export interface Authorization {
  /** For the browser. */
  readonly url: string
  readonly state: string
  readonly verifier: string
}

/** The URL at which a person logs in, with PKCE (S256) and a state of 256 bits. */
export async function beginAuthorization(request: Request): Promise<Authorization> {
  const { issuer, client, redirectUri, scopes, resource } = request
  const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()]
  const url = new URL(issuer.authorization_endpoint ?? '')
  const parameters = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // OpenID Connect: without it, an issuer ignores offline_access and grants no refresh token.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    ...(resource !== null && { resource }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { url: url.href, state, verifier }
}

/** The code of a callback. Checked in this order: state, `iss` (RFC 9207), error, code. */
export function readCallback(
  query: URLSearchParams,
  { state, issuer }: { readonly state: string; readonly issuer: IssuerInfo },
): { code: string } {
  const { host } = new URL(issuer.issuer)
  if (!isSame(query.getAll('state').join(' '), state)) {
    const hint = 'Open the newest link of the login, or start the login again'
    throw new OAuthFailure('unavailable', 'This callback does not belong to the pending login', hint)
  }
  const codes = validated(query, state, issuer, host).getAll('code')
  if (codes.length !== 1 || !codes[0]) {
    throw new OAuthFailure('unavailable', `${host} sent a callback without a code`, 'Start the login again')
  }
  return { code: codes[0] }
}

function validated(query: URLSearchParams, state: string, issuer: IssuerInfo, host: string): URLSearchParams {
  try {
    return validateAuthResponse({ ...issuer }, { client_id: 'unused' }, query, state)
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      const { error: name, error_description: description } = error
      throw refusal(meaningOf(name), { host, what: 'the login', error: name, description })
    }
    // Nothing of the callback is shown: it may come from another issuer.
    const hint = 'Start the login again. If it persists, do not log in: the response may be forged'
    throw new OAuthFailure('issuer_mismatch', `The callback does not come from ${host}`, hint)
  }
}

function isSame(received: string, expected: string): boolean {
  const [a, b] = [Buffer.from(received), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
