import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto'
import {
  type ClientAuth,
  ClientSecretPost,
  dynamicClientRegistrationRequest,
  None,
  PrivateKeyJwt,
  processDynamicClientRegistrationResponse,
} from 'oauth4webapi'
import { isLoopbackHost } from '../proxy.ts'
import { type Answer, fixRegistrationAnswer } from './compatibility-fixes.ts'
import { type IssuerInfo, textOf } from './issuer-metadata.ts'
import { OAuthFailure, refusal } from './oauth-failure.ts'
import { isPassing, type OAuthHttp, type OAuthResponse, statusFailure } from './oauth-http.ts'
import { requestsThrough } from './oauth4webapi-fetch.ts'

type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** Who we are at an issuer: configured by the user, described by a document at a URL, or registered there by ourselves. */
export interface OAuthClient {
  readonly kind: 'given' | 'document' | 'registered'
  readonly client_id: string
  readonly client_secret?: string
  /** Wall clock in ms. Absent: the secret does not expire. */
  readonly secret_expires_at?: number
  readonly auth_method: AuthMethod
  /** PEM. */
  readonly private_key?: string
  readonly signing_alg?: string
  /** The scopes of a registration. Some issuers refuse others. */
  readonly scopes?: readonly string[]
}

/** `oauth` of a server, as far as it describes the client. */
interface GivenClient {
  readonly client_id: string
  readonly client_secret?: string | undefined
  readonly private_key?: string | undefined
  readonly signing_alg?: string | undefined
}

interface Registration {
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** Named where the issuer registers no clients: what an administrator has to register. */
  readonly givenRedirectUri?: string
}

const CLIENT_NAME = 'Toolroom'
const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const

/** The client that the user configured. */
export function givenClient(config: GivenClient, issuer: IssuerInfo): OAuthClient {
  const { client_id, client_secret, private_key, signing_alg } = config
  const given = { kind: 'given', client_id } as const
  if (private_key !== undefined)
    return { ...given, auth_method: 'private_key_jwt', private_key, ...(signing_alg && { signing_alg }) }
  if (client_secret === undefined) return { ...given, auth_method: 'none' }
  return { ...given, auth_method: secretMethod(issuer) ?? 'client_secret_basic', client_secret }
}

/** The client that a document describes: its URL is the id. */
export const documentClient = (url: string): OAuthClient => ({
  kind: 'document',
  client_id: url,
  auth_method: 'none',
})

/** Registers a client (RFC 7591), a public one if the issuer offers that. */
export async function registerClient(
  http: OAuthHttp,
  issuer: IssuerInfo,
  { redirectUri, scopes, givenRedirectUri = redirectUri }: Registration,
): Promise<OAuthClient> {
  const method = isPublicOffered(issuer) ? 'none' : secretMethod(issuer)
  if (issuer.registration_endpoint === undefined || method === undefined)
    throw clientNeeded(issuer, givenRedirectUri)
  const host = new URL(issuer.registration_endpoint).host
  const metadata = {
    client_name: CLIENT_NAME,
    redirect_uris: [redirectUri],
    // OpenID Connect: only a native application may be redirected to this computer.
    application_type: isLoopbackHost(new URL(redirectUri).hostname) ? 'native' : 'web',
    grant_types: ['authorization_code', 'refresh_token'].filter(
      (grant) => issuer.grant_types_supported?.includes(grant) ?? true,
    ),
    response_types: ['code'],
    token_endpoint_auth_method: method,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  const requests = requestsThrough(http, (response) => accepted(host, response))
  const response = await dynamicClientRegistrationRequest({ ...issuer }, metadata, requests)
  const answer = await processDynamicClientRegistrationResponse(response).catch(() => {
    throw refused(host, 'its answer contains no client_id')
  })
  const { client_id } = answer
  const client_secret = textOf(answer.client_secret)
  const expiry = Number(answer.client_secret_expires_at)
  const auth_method = methodOf(answer, issuer, host)
  if (auth_method === 'none' || client_secret === undefined)
    return { kind: 'registered', client_id, auth_method: 'none' }
  const expires = expiry > 0 && { secret_expires_at: expiry * 1000 }
  return { kind: 'registered', client_id, client_secret, auth_method, ...expires }
}

function accepted(host: string, response: OAuthResponse): Answer {
  const { status, json } = response
  if (isPassing(status) || (status < 400 && json === undefined)) throw statusFailure(response)
  const answer = fixRegistrationAnswer({ status, body: json ?? {} })
  if (answer.status >= 400)
    throw refused(host, answer.body.error ?? `status ${status}`, answer.body.error_description)
  return answer
}

/** The answer wins over what was requested. With a secret and no method, RFC 7591 means one of those with a secret. */
function methodOf(answer: Readonly<Record<string, unknown>>, issuer: IssuerInfo, host: string): AuthMethod {
  const named = textOf(answer.token_endpoint_auth_method)
  if (named === undefined) return secretMethod(issuer) ?? 'none'
  const known = (['none', ...SECRET_METHODS] as const).find((method) => method === named)
  if (known === undefined)
    throw refused(host, 'it requires an authentication method that Toolroom cannot use', named)
  return known
}

const isPublicOffered = (issuer: IssuerInfo) =>
  issuer.token_endpoint_auth_methods_supported?.includes('none') ?? false

/** Undefined: the issuer accepts no client secret. Without a list it accepts the default of RFC 8414. */
function secretMethod({
  token_endpoint_auth_methods_supported: offered,
}: IssuerInfo): AuthMethod | undefined {
  return offered === undefined ? SECRET_METHODS[0] : SECRET_METHODS.find((method) => offered.includes(method))
}

const refused = (host: string, error: unknown, description?: unknown) =>
  refusal('registration_refused', { host, what: 'to register a client', error, description })

function clientNeeded({ issuer }: IssuerInfo, redirectUri: string): OAuthFailure {
  const { host } = new URL(issuer)
  const message = `${host} does not register clients by itself`
  const hint = `Register a client at ${host} with the redirect URI ${redirectUri}, and set oauth.client_id and oauth.issuer of the server`
  return new OAuthFailure('client_needed', message, hint)
}

/** How the client proves at the token endpoint who it is. */
export async function authOf(client: OAuthClient): Promise<ClientAuth> {
  const { auth_method, client_secret = '', private_key = '' } = client
  if (auth_method === 'client_secret_basic') return basic(client_secret)
  if (auth_method === 'client_secret_post') return ClientSecretPost(client_secret)
  if (auth_method === 'private_key_jwt')
    return PrivateKeyJwt(await signingKey(private_key, client.signing_alg))
  return None()
}

/**
 * The library writes `-` as `%2D`, which is correct, but some issuers compare the credentials without decoding them.
 * Only what must be encoded is encoded here.
 */
function basic(secret: string): ClientAuth {
  return (_, { client_id }, __, headers) => {
    const credentials = [client_id, secret].map((each) => encodeURIComponent(each).replaceAll('%20', '+'))
    headers.set('authorization', `Basic ${Buffer.from(credentials.join(':')).toString('base64')}`)
  }
}

/** A PEM key, for the algorithm that is set or that is usual for its type. */
async function signingKey(pem: string, alg?: string): Promise<webcrypto.CryptoKey> {
  try {
    const key = createPrivateKey(pem)
    const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
    return await crypto.subtle.importKey('pkcs8', pkcs8, parametersOf(alg ?? usualAlg(key)), false, ['sign'])
  } catch {
    // Without the cause, which may quote the key.
    const message = `oauth.private_key is not a PEM key${alg === undefined ? '' : ` for ${alg}`}`
    const hint =
      'Set oauth.private_key to the private key in PEM, and oauth.signing_alg to its algorithm, such as ES256'
    throw new OAuthFailure('client_refused', message, hint)
  }
}

function usualAlg({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === 'rsa') return 'RS256'
  if (asymmetricKeyType === 'ed25519') return 'Ed25519'
  const curves: Readonly<Record<string, string>> = {
    prime256v1: 'ES256',
    secp384r1: 'ES384',
    secp521r1: 'ES512',
  }
  return curves[asymmetricKeyDetails?.namedCurve ?? ''] ?? ''
}

type Parameters = webcrypto.Algorithm | webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams

function parametersOf(alg: string): Parameters {
  const hash = `SHA-${alg.slice(2)}`
  if (/^RS(?:256|384|512)$/.test(alg)) return { name: 'RSASSA-PKCS1-v1_5', hash }
  if (/^PS(?:256|384|512)$/.test(alg)) return { name: 'RSA-PSS', hash }
  if (alg === 'ES512') return { name: 'ECDSA', namedCurve: 'P-521' }
  if (/^ES(?:256|384)$/.test(alg)) return { name: 'ECDSA', namedCurve: `P-${alg.slice(2)}` }
  return { name: 'Ed25519' }
}
