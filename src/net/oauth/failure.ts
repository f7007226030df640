/** Why a login was refused for good: another try changes nothing until the user does something. */
export type Refusal =
  | 'access_denied'
  | 'client_needed'
  | 'registration_refused'
  | 'client_refused'
  | 'scope_refused'
  | 'pkce_missing'
  | 'resource_mismatch'
  | 'issuer_mismatch'

/**
 * `invalid_grant`, `invalid_client` and `invalid_scope` are an issuer's own words. `unavailable` is everything that may
 * pass: the network, 5xx, 429, HTML, a 4xx without an OAuth error, a refused address. Nothing is forgotten after it.
 */
export type OAuthCode = Refusal | 'invalid_grant' | 'invalid_client' | 'invalid_scope' | 'unavailable'

/** The message says who refused and why, and never contains a secret. The hint says what to do. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure'
  readonly code: OAuthCode
  readonly hint: string
  readonly retryAfterS: number | undefined

  constructor(code: OAuthCode, message: string, hint: string, retryAfterS?: number) {
    super(message)
    this.code = code
    this.hint = hint
    this.retryAfterS = retryAfterS
  }
}
