import { textOf, textsOf } from './issuer-metadata.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { validScopes } from './scopes.ts'
import type { Challenge } from './www-authenticate.ts'

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
