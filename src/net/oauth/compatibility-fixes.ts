/** An answer of an issuer, as it came or as the library accepts it. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Corrects one known mistake of issuers that are in use. Leaves every other answer as it is. */
type Fix = (answer: Answer) => Answer

/** `"scope": null`, `"refresh_token": null`: absent. */
const nullMembers: Fix = ({ status, body }) => ({
  status,
  body: Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== '')),
})

/** A refusal with status 200, as GitHub sends it. */
const errorInSuccess: Fix = ({ status, body }) => ({
  body,
  status: status < 400 && typeof body.error === 'string' ? 400 : status,
})

/** Tokens with status 201, as if they were a new resource. */
const createdTokens: Fix = ({ status, body }) => ({ status: status === 201 ? 200 : status, body })

/** Without `token_type` the token is a Bearer token. */
const missingTokenType: Fix = ({ status, body }) => ({ status, body: { token_type: 'Bearer', ...body } })

const scopeList: Fix = ({ status, body }) => ({
  status,
  body: Array.isArray(body.scope) ? { ...body, scope: body.scope.join(' ') } : body,
})

/** `"expires_in": "3600"` becomes a number. Zero, negative numbers and anything else count as absent. */
const expiryAsText: Fix = ({ status, body: { expires_in, ...body } }) => {
  const seconds = Number(expires_in)
  return { status, body: seconds > 0 && seconds < Infinity ? { ...body, expires_in: seconds } : body }
}

/** An id_token of another issuer, for another client or without a known key. Nothing is decided by it, so it is not validated. */
const foreignIdToken: Fix = ({ status, body: { id_token: _, ...body } }) => ({ status, body })

/** A registration with status 200 in place of 201. */
const createdAs200: Fix = ({ status, body }) => ({ status: status === 200 ? 201 : status, body })

/** A secret without an expiry never expires. */
const secretWithoutExpiry: Fix = ({ status, body }) => ({
  status,
  body: { ...body, client_secret_expires_at: Number(body.client_secret_expires_at) || 0 },
})

const through =
  (fixes: readonly Fix[]): Fix =>
  (answer) =>
    fixes.reduce((each, fix) => fix(each), answer)

export const fixTokenAnswer = through([
  nullMembers,
  errorInSuccess,
  createdTokens,
  missingTokenType,
  scopeList,
  expiryAsText,
  foreignIdToken,
])

export const fixRegistrationAnswer = through([nullMembers, errorInSuccess, createdAs200, secretWithoutExpiry])
