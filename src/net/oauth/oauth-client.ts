export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

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
