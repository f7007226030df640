import * as Type from 'typebox'
import { invalidField } from '../../kernel/errors.ts'
import { component } from '../../kernel/rest-parts.ts'
import { partial, text } from '../../kernel/schema-fields.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'

const LINE = '^[\\x20-\\x7e]{1,2048}$'
const SCOPE = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}$'
export const ScopeList = Type.Array(Type.String({ pattern: SCOPE, expected: 'one OAuth scope' }), {
  maxItems: 100,
  uniqueItems: true,
  examples: [['read', 'write']],
})
const ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
] as const

/** The OAuth client of a server, when an administrator gives one, and what replaces discovery. */
export const OAuthInput = partial({
  client_id: Type.String({ pattern: LINE, expected: 'printable ASCII', examples: ['toolroom'] }),
  client_secret: text('Sealed on disk, never shown', { pattern: LINE, expected: 'printable ASCII' }),
  private_key: text('A private key in PEM (PKCS #8) for private_key_jwt. Sealed on disk, never shown', {
    maxLength: 16_384,
  }),
  signing_alg: Type.Enum([...ALGORITHMS], { description: 'Of the private key. Default: ES256' }),
  issuer: Type.String({
    maxLength: 2048,
    pattern: '^[hH][tT][tT][pP][sS]?://[^/?#@\\s\\\\]+(/[^?#\\s]*)?$',
    expected: 'an http or https URL without a user name, query or fragment',
    examples: ['https://auth.example.com'],
    description: 'The only authorization server to use. Required with a secret or a key',
  }),
  scopes: { ...ScopeList, description: 'Replaces the discovered scopes' } as typeof ScopeList,
  redirect_host: Type.Enum(['127.0.0.1', 'localhost'], {
    description: 'The host of the redirect URI, for issuers that accept only one of them. Default: 127.0.0.1',
  }),
  grant: Type.Enum(['authorization_code', 'client_credentials'], {
    description: '`client_credentials`: Toolroom logs in by itself, without a person',
  }),
})
export type OAuthConfig = Type.Static<typeof OAuthInput>
component({ OAuth: OAuthInput }, 'The OAuth client of an HTTP server', {
  examples: [{ client_id: 'toolroom', scopes: ['read'] }],
})

/**
 * The configuration to store. `***` keeps a stored secret, but only for the same issuer and the same origin: a secret is
 * sent only where it was saved for.
 */
export function keptOAuth(
  given: OAuthConfig,
  stored: OAuthConfig | undefined,
  hasMoved: boolean,
): OAuthConfig {
  const kept = { ...given }
  for (const field of OAUTH_SECRETS) {
    if (given[field] !== MASK) continue
    const value = hasMoved || given.issuer !== stored?.issuer ? undefined : stored?.[field]
    if (value === undefined)
      throw invalidField(`/oauth/${field}`, `is ${MASK}, but no secret is stored for this server and issuer`)
    kept[field] = value
  }
  check(kept)
  return kept
}

function check({ client_id, client_secret, private_key, issuer, grant }: OAuthConfig): void {
  const secret = client_secret !== undefined || private_key !== undefined
  if (secret && client_id === undefined)
    throw invalidField('/oauth/client_id', 'is required with a secret or a private key')
  if (secret && issuer === undefined)
    throw invalidField(
      '/oauth/issuer',
      'is required with a secret: it says to which issuer the secret may be sent',
    )
  if (client_secret !== undefined && private_key !== undefined)
    throw invalidField('/oauth/private_key', 'cannot be combined with client_secret')
  if (grant === 'client_credentials' && !secret)
    throw invalidField('/oauth/client_secret', 'or private_key is required for client_credentials')
}

/** The secrets among the OAuth settings of a server. */
const OAUTH_SECRETS = ['client_secret', 'private_key'] as const

/** The OAuth settings of a server with their secrets masked. */
export const maskOAuth = <T extends object>(settings: T): T => ({
  ...settings,
  ...Object.fromEntries(OAUTH_SECRETS.filter((field) => field in settings).map((field) => [field, MASK])),
})
