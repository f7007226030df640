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
