import { OAuthFailure } from './oauth-failure.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { validScopes } from './scopes.ts'

/** The checked part of an issuer's metadata (RFC 8414) that the flow uses. Plain JSON, so that it can be stored. */
export interface IssuerInfo {
  /** As the metadata writes it. */
  readonly issuer: string
  /** Absent when the issuer serves no browsers. */
  readonly authorization_endpoint?: string
  readonly token_endpoint: string
  readonly registration_endpoint?: string
  readonly revocation_endpoint?: string
  readonly scopes_supported?: string[]
  readonly grant_types_supported?: string[]
  readonly token_endpoint_auth_methods_supported?: string[]
  readonly dpop_signing_alg_values_supported?: string[]
  /** Every authorization response carries `iss` (RFC 9207). */
  readonly authorization_response_iss_parameter_supported: boolean
  readonly client_id_metadata_document_supported: boolean
}

/** A text in foreign JSON. Anything of another type counts as absent, as does an empty text. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The texts of a list in foreign JSON. */
export const textsOf = (value: unknown): string[] | undefined =>
  Array.isArray(value)
    ? value.slice(0, MAX_ENTRIES).filter((each) => typeof each === 'string' && each !== '')
    : undefined

const MAX_ENTRIES = 200

type Metadata = Record<string, unknown>

/** The checked metadata. Throws when an endpoint or PKCE is missing; without a `browser`, neither is needed. */
export async function issuerInfo(
  http: OAuthHttp,
  issuer: string,
  metadata: Metadata,
  browser = true,
): Promise<IssuerInfo> {
  const endpoint = async <N extends string>(name: N): Promise<{ [name in N]?: string }> => {
    const value = textOf(metadata[name])
    if (value === undefined) return {}
    await http.checked(value, `The ${name} of ${new URL(issuer).host}`)
    return { [name]: value } as { [name in N]?: string }
  }
  const { token_endpoint } = await endpoint('token_endpoint')
  const authorization = await endpoint('authorization_endpoint')
  const { host } = new URL(issuer)
  if (token_endpoint === undefined || (browser && authorization.authorization_endpoint === undefined)) {
    const missing = token_endpoint === undefined ? 'token_endpoint' : 'authorization_endpoint'
    const hint = 'The operator of the issuer must correct its metadata'
    throw new OAuthFailure('unavailable', `The metadata of ${host} names no ${missing}`, hint)
  }
  if (browser && !textsOf(metadata.code_challenge_methods_supported)?.includes('S256'))
    throw withoutPkce(host)
  return {
    issuer,
    ...authorization,
    token_endpoint,
    ...(await endpoint('registration_endpoint')),
    ...(await endpoint('revocation_endpoint')),
    ...list('scopes_supported', validScopes(textsOf(metadata.scopes_supported)) ?? undefined),
    ...listIn(metadata, 'grant_types_supported'),
    ...listIn(metadata, 'token_endpoint_auth_methods_supported'),
    ...listIn(metadata, 'dpop_signing_alg_values_supported'),
    authorization_response_iss_parameter_supported:
      metadata.authorization_response_iss_parameter_supported === true,
    client_id_metadata_document_supported: metadata.client_id_metadata_document_supported === true,
  }
}

const listIn = <N extends string>(metadata: Metadata, name: N) => list(name, textsOf(metadata[name]))

const list = <N extends string>(name: N, values: string[] | undefined) =>
  (values === undefined ? {} : { [name]: values }) as { [name in N]?: string[] }

/** MCP 2025-03-26: fallbacks for servers without metadata. */
export function legacyIssuerInfo({ origin }: URL): IssuerInfo {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    authorization_response_iss_parameter_supported: false,
    client_id_metadata_document_supported: false,
  }
}

function withoutPkce(host: string): OAuthFailure {
  const message = `${host} does not support PKCE with S256, without which a stolen code could be used`
  const hint = "The issuer's operator must list S256 in code_challenge_methods_supported"
  return new OAuthFailure('pkce_missing', message, hint)
}
