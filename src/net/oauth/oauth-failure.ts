import { printableLine } from '../../kernel/secrets/strip-terminal-codes.ts'

/** Why a login was refused for good: another try changes nothing until the user does something. */
type Refusal =
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

/** What an issuer's error means for a login. GitHub has names of its own. */
const MEANINGS: ReadonlyMap<string, OAuthCode> = new Map([
  ['invalid_grant', 'invalid_grant'],
  ['bad_refresh_token', 'invalid_grant'],
  ['bad_verification_code', 'invalid_grant'],
  ['invalid_client', 'invalid_client'],
  ['incorrect_client_credentials', 'invalid_client'],
  ['unauthorized_client', 'client_refused'],
  ['invalid_scope', 'invalid_scope'],
  ['invalid_target', 'resource_mismatch'],
  ['access_denied', 'access_denied'],
  ['login_required', 'access_denied'],
  ['consent_required', 'access_denied'],
  ['interaction_required', 'access_denied'],
])

export const meaningOf = (error: string): OAuthCode => MEANINGS.get(error) ?? 'unavailable'

const HINTS: Readonly<Partial<Record<OAuthCode, string>>> = {
  invalid_grant: 'Log in again',
  invalid_client: 'Log in again. If you set oauth.client_id, check it, its secret and oauth.issuer',
  client_refused:
    'Ask the operator of the issuer to permit this login for the client, or set another oauth.client_id',
  registration_refused: 'Register a client at the issuer yourself, and set oauth.client_id',
  invalid_scope: 'Set oauth.scopes to scopes that the issuer grants',
  resource_mismatch: 'The issuer does not know this server: check the URL of the server, or ask its operator',
  access_denied: 'Log in again and allow the access, or ask an administrator of the issuer to allow it',
}

interface Report {
  /** The issuer's host. */
  readonly host: string
  /** What was refused: `the token request`. */
  readonly what: string
  /** `error` and `error_description`, which are foreign text. */
  readonly error: unknown
  readonly description: unknown
  /** Values that the description must not repeat. */
  readonly secrets?: readonly (string | undefined)[]
}

/** An error that an issuer reported, with its own words. */
export function refusal(code: OAuthCode, report: Report): OAuthFailure {
  const { host, what, secrets = [] } = report
  const [error, description] = [report.error, report.description].map((text) =>
    typeof text === 'string' ? printableLine(without(secrets, text), MAX_CHARS) : undefined,
  )
  const reason = description === undefined ? '' : ` (${description})`
  const hint = HINTS[code] ?? 'Try again later, or ask the operator of the issuer'
  return new OAuthFailure(code, `${host} refused ${what}: ${error ?? 'no reason given'}${reason}`, hint)
}

const MAX_CHARS = 300

function without(secrets: readonly (string | undefined)[], text: string): string {
  return secrets.reduce<string>(
    (rest, secret) => (secret ? rest.replaceAll(secret, '***') : rest),
    text.slice(0, 10 * MAX_CHARS),
  )
}
