import {
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  revocationRequest,
} from 'oauth4webapi'
import { isObject } from '../../kernel/json/json-checks.ts'
import { printableLine } from '../../kernel/secrets/strip-terminal-codes.ts'
import { type Answer, fixTokenAnswer } from './compatibility-fixes.ts'
import { type ProofKey, proofSigner } from './dpop.ts'
import { type IssuerInfo, textOf } from './issuer-metadata.ts'
import { authOf, type OAuthClient } from './oauth-clients.ts'
import { meaningOf, type OAuthCode, OAuthFailure, refusal } from './oauth-failure.ts'
import { isPassing, type OAuthHttp, type OAuthResponse, statusFailure } from './oauth-http.ts'
import { requestsThrough } from './oauth4webapi-fetch.ts'
import { scopesIn } from './scopes.ts'

export interface TokenSet {
  readonly access_token: string
  readonly refresh_token: string | null
  /** Wall clock in ms. Null: the issuer names none. */
  readonly expires_at: number | null
  /** Null: those that were requested. */
  readonly scopes: string[] | null
  /** From the id_token, which is not validated: for display only. */
  readonly account: string | null
  /** The key that the tokens are bound to. Absent: they are Bearer tokens. */
  readonly dpop_key?: ProofKey
}

interface Request {
  readonly http: OAuthHttp
  readonly issuer: IssuerInfo
  readonly client: OAuthClient
}

interface TokenRequest extends Request {
  /** As the server writes it. Null: it names none. */
  readonly resource: string | null
  /** The tokens are to be bound to this key. */
  readonly dpopKey?: ProofKey | undefined
  readonly now?: () => number
}

interface Code extends TokenRequest {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

const REVOKE_MS = 5000
const MAX_ACCOUNT_CHARS = 200

export const exchangeCode = ({ code, verifier, redirectUri, ...request }: Code): Promise<TokenSet> =>
  requestTokens(request, 'authorization_code', { code, redirect_uri: redirectUri, code_verifier: verifier })

/** The old refresh token stays when the answer has no new one. Only `invalid_grant` and `invalid_client` are final. */
export async function refreshTokens({
  refreshToken,
  ...request
}: TokenRequest & { readonly refreshToken: string }): Promise<TokenSet> {
  const tokens = await requestTokens(request, 'refresh_token', { refresh_token: refreshToken }, finalOf)
  return { ...tokens, refresh_token: tokens.refresh_token ?? refreshToken }
}

/** Without a browser: the client itself is the account. */
export const clientCredentials = ({
  scopes,
  ...request
}: TokenRequest & { readonly scopes: readonly string[] }): Promise<TokenSet> =>
  requestTokens(request, 'client_credentials', scopes.length > 0 ? { scope: scopes.join(' ') } : {})

/** RFC 7009, within 5 s. Does nothing when the issuer has no such endpoint. */
export async function revokeToken({
  token,
  ...request
}: Request & { readonly token: string }): Promise<void> {
  const { http, issuer, client } = request
  if (issuer.revocation_endpoint === undefined) return
  const accept = (response: OAuthResponse): Answer => {
    if (response.status >= 400) throw failureOf(response, request, [token], meaningOf)
    return { status: 200, body: {} }
  }
  await revocationRequest(
    { ...issuer },
    { client_id: client.client_id },
    await authOf(client),
    token,
    requestsThrough(http, accept, { withinMs: REVOKE_MS }),
  )
}

async function requestTokens(
  { http, issuer, client, resource, dpopKey, now = Date.now }: TokenRequest,
  grant: string,
  own: Readonly<Record<string, string>>,
  meaning = meaningOf,
): Promise<TokenSet> {
  let account: string | null = null
  const secrets = [own.code, own.code_verifier, own.refresh_token]
  const accept = (response: OAuthResponse): Answer => {
    const { status, json } = response
    if (json === undefined || isPassing(status)) throw statusFailure(response)
    const answer = fixTokenAnswer({ status, body: json })
    if (answer.status >= 400) throw failureOf(response, { issuer, client }, secrets, meaning)
    account = accountIn(json.id_token)
    return answer
  }
  const id = { client_id: client.client_id }
  const parameters = { ...own, ...(resource !== null && { resource }) }
  const options = requestsThrough(http, accept, { signer: dpopKey && proofSigner(dpopKey) })
  const response = await genericTokenEndpointRequest(
    { ...issuer },
    id,
    await authOf(client),
    grant,
    parameters,
    options,
  )
  const tokens = await processGenericTokenEndpointResponse({ ...issuer }, id, response).catch(() => {
    const message = `${hostOf(issuer)} answered the token request without a usable token`
    throw new OAuthFailure('unavailable', message, 'Try again later, or ask the operator of the issuer')
  })
  if (tokens.token_type === 'dpop' && dpopKey === undefined) {
    const message = `${hostOf(issuer)} issued a token that is bound to a key, which the server did not ask for`
    throw new OAuthFailure('unavailable', message, 'Ask the operator of the issuer')
  }
  return {
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token ?? null,
    expires_at: tokens.expires_in === undefined ? null : now() + tokens.expires_in * 1000,
    scopes: scopesIn(tokens.scope),
    account,
    ...(dpopKey && tokens.token_type === 'dpop' && { dpop_key: dpopKey }),
  }
}

/** Everything else may pass, and a login is not given up for it. */
function finalOf(error: string): OAuthCode {
  const meaning = meaningOf(error)
  return meaning === 'invalid_grant' || meaning === 'invalid_client' ? meaning : 'unavailable'
}

function failureOf(
  response: OAuthResponse,
  { issuer, client }: Pick<Request, 'issuer' | 'client'>,
  own: readonly (string | undefined)[],
  meaning: (error: string) => OAuthCode,
): OAuthFailure {
  const error = textOf(response.json?.error)
  if (error === undefined || isPassing(response.status)) return statusFailure(response)
  const secrets = [...own, client.client_secret]
  const description = response.json?.error_description
  return refusal(meaning(error), {
    host: hostOf(issuer),
    what: 'the token request',
    error,
    description,
    secrets,
  })
}

const hostOf = ({ issuer }: IssuerInfo) => new URL(issuer).host

/** The name of the account in the claims of an id_token. */
function accountIn(token: unknown): string | null {
  try {
    const claims: unknown = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
    if (!isObject(claims)) return null
    const name = [claims.email, claims.preferred_username, claims.name, claims.sub].find((each) =>
      textOf(each),
    )
    return printableLine(String(name ?? ''), MAX_ACCOUNT_CHARS) ?? null
  } catch {
    return null // no id_token, or an encrypted one
  }
}
