import { printableLine } from '../../kernel/secrets/printable-line.ts'
import { type OAuthCode, OAuthFailure } from './failure.ts'

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
