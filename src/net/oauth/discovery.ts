import type { Challenge } from './challenges.ts'
import { type IssuerInfo, textOf, textsOf } from './issuer-metadata.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { validScopes } from './scopes.ts'

/** What a server publishes about its authorization (RFC 9728). */
export interface ResourceInfo {
  /** The resource identifier as the server writes it. Null: it publishes no metadata. */
  readonly resource: string | null
  /** At least one: the server's origin when no other is named. */
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | null
  /** The server's origin is the issuer, possibly without metadata (MCP 2025-03-26). */
  readonly isLegacy: boolean
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Reads the metadata from the URL of the challenge, else from the well-known URL with the path, else from the root. */
export async function discoverResource(
  http: OAuthHttp,
  serverUrl: URL,
  challenge?: Challenge,
): Promise<ResourceInfo> {
  for (const url of await resourceMetadataUrls(http, serverUrl, challenge)) {
    const metadata = await http.getMetadata(url)
    const resource = textOf(metadata?.resource)
    if (metadata === undefined || resource === undefined) continue
    if (!coversServer(resource, serverUrl)) throw resourceMismatch(resource, serverUrl)
    const issuers = textsOf(metadata.authorization_servers) ?? []
    return {
      resource,
      issuers: issuers.length > 0 ? issuers : [serverUrl.origin],
      scopes: validScopes(textsOf(metadata.scopes_supported)),
      isLegacy: issuers.length === 0,
    }
  }
  return { resource: null, issuers: [serverUrl.origin], scopes: null, isLegacy: true }
}

async function resourceMetadataUrls(http: OAuthHttp, serverUrl: URL, challenge?: Challenge): Promise<URL[]> {
  const named = challenge?.params.resource_metadata
  const path = serverUrl.pathname.replace(/\/$/, '')
  const wellKnown = [...new Set([`${WELL_KNOWN}${path}`, WELL_KNOWN])].map(
    (each) => new URL(each, serverUrl.origin),
  )
  if (named === undefined) return wellKnown
  return [await http.checked(named, 'The resource_metadata of the WWW-Authenticate header'), ...wellKnown]
}

/** True when the resource has the server's origin and is a prefix of its path in whole segments. */
function coversServer(resource: string, serverUrl: URL): boolean {
  if (!URL.canParse(resource)) return false
  const { origin, pathname, search, hash, username, password } = new URL(resource)
  if (hash !== '' || username !== '' || password !== '') return false
  const isPrefix = `${trimmed(serverUrl.pathname)}/`.startsWith(`${trimmed(pathname)}/`)
  return origin === serverUrl.origin && isPrefix && (search === '' || search === serverUrl.search)
}

const trimmed = (path: string) => (path.endsWith('/') ? path.slice(0, -1) : path)

function resourceMismatch(resource: string, serverUrl: URL): OAuthFailure {
  const named = URL.canParse(resource) ? new URL(resource).host : 'something that is not a URL'
  const message = `The metadata of ${serverUrl.host} is for another resource, at ${named || 'another scheme'}`
  const hint = 'Check the URL of the server. A token for another resource is never requested'
  return new OAuthFailure('resource_mismatch', message, hint)
}

interface Options {
  /** An issuer without metadata has the default endpoints of MCP 2025-03-26. */
  readonly isLegacy: boolean
  /** False for client credentials, which use neither a browser nor PKCE. */
  readonly browser?: boolean
}

type Metadata = Record<string, unknown>

/** The metadata of an issuer: RFC 8414 inserted, OpenID Connect inserted, OpenID Connect appended. */
export async function discoverIssuer(http: OAuthHttp, issuer: string, options: Options): Promise<IssuerInfo> {
  const url = await http.checked(issuer, 'The issuer')
  let foreign: string | undefined
  for (const each of issuerMetadataUrls(url)) {
    const metadata = await http.getMetadata(each)
    const named = textOf(metadata?.issuer)
    if (metadata === undefined || named === undefined) continue
    if (isSameIssuer(named, issuer)) return issuerInfo(http, named, metadata, options)
    foreign ??= named
  }
  if (foreign !== undefined) throw issuerMismatch(url, foreign)
  if (options.isLegacy) return withDefaults(url)
  const hint = 'Check the URL of the server. The operator of the issuer must publish its metadata (RFC 8414)'
  throw new OAuthFailure('unavailable', `The issuer ${url.host} publishes no metadata`, hint)
}

function issuerMetadataUrls({ origin, pathname }: URL): URL[] {
  const path = pathname.replace(/\/$/, '')
  const paths = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ]
  return [...new Set(paths)].map((each) => new URL(each, origin))
}

/** Identical, except for the slash of an empty path: several large issuers are named with it and write it without. */
function isSameIssuer(named: string, asked: string): boolean {
  return named === asked || (isWithoutPath(asked) && withoutSlash(named) === withoutSlash(asked))
}

const isWithoutPath = (issuer: string) => new URL(issuer).pathname === '/'
const withoutSlash = (issuer: string) => (issuer.endsWith('/') ? issuer.slice(0, -1) : issuer)

async function issuerInfo(
  http: OAuthHttp,
  issuer: string,
  metadata: Metadata,
  { browser = true }: Options,
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
function withDefaults({ origin }: URL): IssuerInfo {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    authorization_response_iss_parameter_supported: false,
    client_id_metadata_document_supported: false,
  }
}

function issuerMismatch(asked: URL, named: string): OAuthFailure {
  const other = URL.canParse(named) ? new URL(named).host : 'something that is not a URL'
  const who = other === asked.host ? `another issuer at ${other}` : `another issuer, ${other}`
  const hint =
    "Check the URL of the server and its oauth.issuer. Otherwise the issuer's operator must correct its metadata"
  return new OAuthFailure('issuer_mismatch', `The metadata of ${asked.host} is that of ${who}`, hint)
}

function withoutPkce(host: string): OAuthFailure {
  const message = `${host} does not support PKCE with S256, without which a stolen code could be used`
  const hint = "The issuer's operator must list S256 in code_challenge_methods_supported"
  return new OAuthFailure('pkce_missing', message, hint)
}
