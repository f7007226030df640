import { type IssuerInfo, issuerInfo, legacyIssuerInfo, textOf } from './issuer-metadata.ts'
import { OAuthFailure } from './oauth-failure.ts'
import type { OAuthHttp } from './oauth-http.ts'

interface Options {
  /** An issuer without metadata has the default endpoints of MCP 2025-03-26. */
  readonly isLegacy: boolean
  /** False for client credentials, which use neither a browser nor PKCE. */
  readonly browser?: boolean
}

/** The metadata of an issuer: RFC 8414 inserted, OpenID Connect inserted, OpenID Connect appended. */
export async function discoverIssuer(http: OAuthHttp, issuer: string, options: Options): Promise<IssuerInfo> {
  const url = await http.checked(issuer, 'The issuer')
  let foreign: string | undefined
  for (const each of issuerMetadataUrls(url)) {
    const metadata = await http.getMetadata(each)
    const named = textOf(metadata?.issuer)
    if (metadata === undefined || named === undefined) continue
    if (isSameIssuer(named, issuer)) return issuerInfo(http, named, metadata, options.browser)
    foreign ??= named
  }
  if (foreign !== undefined) throw issuerMismatch(url, foreign)
  if (options.isLegacy) return legacyIssuerInfo(url)
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

function issuerMismatch(asked: URL, named: string): OAuthFailure {
  const other = URL.canParse(named) ? new URL(named).host : 'something that is not a URL'
  const who = other === asked.host ? `another issuer at ${other}` : `another issuer, ${other}`
  const hint =
    "Check the URL of the server and its oauth.issuer. Otherwise the issuer's operator must correct its metadata"
  return new OAuthFailure('issuer_mismatch', `The metadata of ${asked.host} is that of ${who}`, hint)
}
