interface Sources {
  /** `oauth.scopes` of the server, or those of the request that starts the login. */
  readonly configured: readonly string[] | null
  /** Of the WWW-Authenticate header, with `scopesIn`. */
  readonly challenge: readonly string[] | null
  readonly resource: readonly string[] | null
  /** What an earlier login requested; empty unless more scopes are needed now. */
  readonly askedBefore: readonly string[]
  readonly issuer: { readonly scopes_supported?: readonly string[] }
  /** False after the issuer refused the scopes. */
  readonly offline?: boolean
}

const OFFLINE = 'offline_access'

/** The scopes to request. Empty: the parameter is left out, and the issuer decides. */
export function chooseScopes(sources: Sources): string[] {
  const { configured, challenge, resource, askedBefore, issuer, offline = true } = sources
  const wanted = [configured, challenge, resource].find((each) => each !== null && each.length > 0) ?? []
  const scopes = new Set([...askedBefore, ...wanted])
  const isListed = issuer.scopes_supported?.includes(OFFLINE)
  // Alone it would replace the scopes that the issuer grants by default.
  if (isListed && scopes.size > 0) scopes.add(OFFLINE)
  if (!offline || (isListed === false && !configured?.includes(OFFLINE))) scopes.delete(OFFLINE)
  return [...scopes]
}

/** The scopes of a `scope` parameter or field. GitHub separates them by commas. Null: it names none. */
export const scopesIn = (text: string | undefined): string[] | null => validScopes(text?.split(/[\s,]+/))

/** Without duplicates and without words that are no scope (RFC 6749, section 3.3). */
export function validScopes(words: readonly string[] | undefined): string[] | null {
  const scopes = new Set(words?.filter((word) => SCOPE.test(word)).slice(0, MAX_SCOPES))
  return scopes.size > 0 ? [...scopes] : null
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,500}$/
const MAX_SCOPES = 200
