import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Answers,
  METADATA,
  metadataOf,
  plainIssuer,
  REGISTERED,
  TOKENS,
} from '../../../test/fixtures/oauth-quirks/issuer.ts'
import { discoverIssuer } from './discover-issuer.ts'
import { registerClient } from './oauth-clients.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { OAuthHttp } from './oauth-http.ts'
import { exchangeCode, refreshTokens, type TokenSet } from './tokens.ts'

const NOW = 1_800_000_000_000
const REDIRECT = 'http://127.0.0.1:8665/oauth/callback'
const ID_TOKEN = [{ alg: 'none' }, { iss: 'https://other.example', aud: 'another', email: 'ada@example.com' }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.')
  .concat('.signature')

/** A whole login at an issuer with one deviation: discovery, registration, the code, a refresh. */
async function login(own: (origin: string) => Answers) {
  const issuer = await plainIssuer(own)
  const serverUrl = new URL(issuer.origin)
  const http = new OAuthHttp({ serverUrl, network: {}, version: '1', ownOrigins: () => [] })
  onTestFinished(async () => {
    http.close()
    await issuer.close()
  })
  const info = await discoverIssuer(http, issuer.origin, { isLegacy: true })
  const client = await registerClient(http, info, { redirectUri: REDIRECT, scopes: ['a', 'b'] })
  const request = { http, issuer: info, client, resource: `${issuer.origin}/mcp`, now: () => NOW }
  const tokens = await exchangeCode({
    ...request,
    code: 'code-1',
    verifier: 'verifier-1',
    redirectUri: REDIRECT,
  })
  const refreshed = await refreshTokens({ ...request, refreshToken: 'refresh-0' })
  const sent = issuer.requests.filter(({ path }) => path === '/token')
  return { info, client, tokens, refreshed, sent, requests: issuer.requests }
}

const EXPECTED: TokenSet = {
  access_token: 'access-1',
  refresh_token: 'refresh-1',
  expires_at: NOW + 3_600_000,
  scopes: ['a', 'b'],
  account: null,
}
const { token_type: _, ...UNTYPED } = TOKENS
const { client_secret_expires_at: __, ...UNDATED } = REGISTERED
const token = (body: unknown, own = {}) => ({ '/token': { body, ...own } })
const register = (body: unknown, status = 201) => ({ '/register': { status, body } })

describe('issuers that deviate from the specifications and are in use', () => {
  test.each<[string, Answers, Partial<TokenSet>?]>([
    ['answers a registration with 200', register(REGISTERED, 200)],
    ['names no client_secret_expires_at', register(UNDATED)],
    ['writes client_secret_expires_at as null', register({ ...REGISTERED, client_secret_expires_at: null })],
    ['names no token_type', token(UNTYPED)],
    ['writes token_type as null', token({ ...TOKENS, token_type: null })],
    ['writes token_type in lower case', token({ ...TOKENS, token_type: 'bearer' })],
    ['writes token_type in upper case', token({ ...TOKENS, token_type: 'BEARER' })],
    ['writes scope as null', token({ ...TOKENS, scope: null }), { scopes: null }],
    ['writes an empty scope', token({ ...TOKENS, scope: '' }), { scopes: null }],
    ['writes scope as a list', token({ ...TOKENS, scope: ['a', 'b'] })],
    ['separates scopes by commas', token({ ...TOKENS, scope: 'a,b' })],
    ['writes expires_in as a string', token({ ...TOKENS, expires_in: '3600' })],
    ['writes expires_in as null', token({ ...TOKENS, expires_in: null }), { expires_at: null }],
    ['writes expires_in as 0', token({ ...TOKENS, expires_in: 0 }), { expires_at: null }],
    ['writes expires_in as a word', token({ ...TOKENS, expires_in: 'never' }), { expires_at: null }],
    ['adds a foreign id_token', token({ ...TOKENS, id_token: ID_TOKEN }), { account: 'ada@example.com' }],
    ['adds an id_token that cannot be read', token({ ...TOKENS, id_token: 'a.b' })],
    ['adds an id_token of another type', token({ ...TOKENS, id_token: { sub: 1 } })],
    ['adds unknown fields', token({ ...TOKENS, ext_expires_in: 1, user: { id: 1 }, ok: true })],
    ['answers with status 201', token(TOKENS, { status: 201 })],
    ['answers with the type text/plain', token(TOKENS, { headers: { 'content-type': 'text/plain' } })],
    [
      'answers with a challenge beside the token',
      token(TOKENS, { headers: { 'www-authenticate': 'Basic' } }),
    ],
    ['has no metadata and answers with pages of HTML', { [METADATA]: undefined }],
  ])('a login succeeds at an issuer that %s', async (_title, own, expected = {}) => {
    const { client, tokens, refreshed } = await login(() => own)
    expect(client).toMatchObject({ kind: 'registered', client_id: 'client-1', client_secret: 'secret-1' })
    expect(client).not.toHaveProperty('secret_expires_at')
    expect(tokens).toEqual({ ...EXPECTED, ...expected })
    expect(refreshed).toEqual({ ...EXPECTED, ...expected })
  })

  test('a login succeeds at an issuer that writes its name with the slash of an empty path', async () => {
    const { info, tokens } = await login((origin) => ({
      [METADATA]: { body: { ...metadataOf(origin), issuer: `${origin}/` } },
    }))
    expect(info.issuer).toMatch(/\d\/$/)
    expect(tokens).toEqual(EXPECTED)
  })

  test.each([[undefined], [null], ['']])(
    'the old refresh token stays when a refresh answers with %j',
    async (refresh_token) => {
      const { tokens, refreshed } = await login(() => token({ ...TOKENS, refresh_token }))
      expect([tokens.refresh_token, refreshed.refresh_token]).toEqual([null, 'refresh-0'])
    },
  )

  test.each<[string, object, ...(string | undefined)[]]>([
    ['none', { client_id: 'x', token_endpoint_auth_method: 'none' }, undefined, 'x', undefined],
    ['basic', { ...REGISTERED, token_endpoint_auth_method: 'client_secret_basic' }, 'client-1:secret-1'],
    ['post', REGISTERED, undefined, 'client-1', 'secret-1'],
    ['basic, when it names none', { ...REGISTERED, token_endpoint_auth_method: null }, 'client-1:secret-1'],
    [
      'none, when there is no secret',
      { client_id: 'x', token_endpoint_auth_method: 'client_secret_basic' },
      undefined,
      'x',
    ],
  ])(
    'an issuer that registers another method than requested gets that one: %s',
    async (_title, body, basic, id, secret) => {
      const { sent, requests } = await login(() => register(body))
      const registration = JSON.parse(requests.find(({ path }) => path === '/register')?.body ?? '')
      expect(registration.token_endpoint_auth_method).toBe('none')
      for (const { headers, body: form } of sent) {
        const parameters = new URLSearchParams(form)
        const credentials = headers.authorization?.replace('Basic ', '')
        expect(credentials && Buffer.from(credentials, 'base64').toString()).toBe(basic)
        expect(parameters.get('client_id') ?? undefined).toBe(id)
        expect(parameters.get('client_secret') ?? undefined).toBe(secret)
      }
    },
  )

  test('only what must be encoded is encoded in Basic credentials', async () => {
    const body = {
      ...UNDATED,
      client_id: 'a-b_c.d~e',
      client_secret: 'f-g:h i+j/k%',
      token_endpoint_auth_method: 'client_secret_basic',
    }
    const { sent } = await login(() => register(body))
    const [, credentials = ''] = sent[0]?.headers.authorization?.split(' ') ?? []
    expect(Buffer.from(credentials, 'base64').toString()).toBe('a-b_c.d~e:f-g%3Ah+i%2Bj%2Fk%25')
  })
})

describe('refusals', () => {
  const refused = async (own: Answers): Promise<OAuthFailure> => {
    try {
      await login(() => own)
    } catch (error) {
      if (error instanceof OAuthFailure) return error
      throw error
    }
    return expect.unreachable('the login succeeded')
  }

  test.each([
    ['invalid_grant', 'invalid_grant'],
    ['bad_verification_code', 'invalid_grant'],
    ['invalid_client', 'invalid_client'],
    ['incorrect_client_credentials', 'invalid_client'],
    ['unauthorized_client', 'client_refused'],
    ['invalid_scope', 'invalid_scope'],
    ['invalid_target', 'resource_mismatch'],
    ['access_denied', 'access_denied'],
    ['invalid_request', 'unavailable'],
    ['constructor', 'unavailable'],
  ])('the error %s of a code means %s, with every status and beside a challenge', async (error, code) => {
    for (const status of [200, 400, 401]) {
      const headers = { 'www-authenticate': 'Basic realm="x"' }
      const failure = await refused(token({ error, error_description: 'because' }, { status, headers }))
      expect(failure.code).toBe(code)
      expect(failure.message).toMatch(
        new RegExp(`^127.0.0.1:\\d+ refused the token request: ${error} \\(because\\)$`),
      )
    }
  })

  test.each([
    ['a 400 without an OAuth error', { status: 400, body: { message: 'no' } }],
    ['a 404 of HTML', { status: 404, body: '<html>' }],
    ['HTML with status 200', { body: '<html>' }],
    ['a list', { body: [] }],
    ['no body', { body: '' }],
    ['429', { status: 429, body: { error: 'invalid_grant' } }],
    ['500', { status: 500, body: { error: 'invalid_grant' } }],
    ['a 503 of HTML', { status: 503, body: '<html>' }],
    ['an answer without a token', { body: { token_type: 'Bearer' } }],
    ['a token of an unknown type', { body: { ...TOKENS, token_type: 'mac' } }],
    ['a token that is bound to no known key', { body: { ...TOKENS, token_type: 'DPoP' } }],
    ['a token that is no text', { body: { ...TOKENS, access_token: 7 } }],
  ])('%s from the token endpoint is unavailable, so nothing is forgotten', async (_title, answer) => {
    expect(await refused({ '/token': answer })).toMatchObject({ code: 'unavailable' })
  })

  test('of a refresh, only invalid_grant and invalid_client are final', async () => {
    const codes: Record<string, string> = {}
    for (const error of [
      'invalid_grant',
      'bad_refresh_token',
      'invalid_client',
      'invalid_scope',
      'unauthorized_client',
      'access_denied',
    ]) {
      const failure = await refused({
        '/token': ({ body }) =>
          body.includes('grant_type=refresh_token') ? { status: 400, body: { error } } : { body: TOKENS },
      })
      codes[error] = failure.code
    }
    expect(codes).toEqual({
      invalid_grant: 'invalid_grant',
      bad_refresh_token: 'invalid_grant',
      invalid_client: 'invalid_client',
      invalid_scope: 'unavailable',
      unauthorized_client: 'unavailable',
      access_denied: 'unavailable',
    })
  })

  test('an error text repeats no code, verifier, token or secret, and is one short line', async () => {
    const echo = 'code-1 verifier-1 secret-1 refresh-0 \u001b[31mred\u0007\n<b>'
    const failure = await refused(
      token({ error: 'invalid_grant', error_description: echo.padEnd(9000, 'x') }, { status: 400 }),
    )
    expect(failure.message).toContain('(*** *** *** refresh-0  red <b>xxx')
    expect(failure.message.length).toBeLessThan(400)
    const late = await refused({
      '/token': ({ body }) =>
        body.includes('refresh_token') ? { status: 400, body: { error: 'refresh-0' } } : { body: TOKENS },
    })
    expect(late.message).toContain('refused the token request: ***')
  })

  test.each([
    [
      'an OAuth error',
      { status: 400, body: { error: 'invalid_redirect_uri', error_description: 'no' } },
      'invalid_redirect_uri (no)',
    ],
    ['an OAuth error in a 200', { body: { error: 'access_denied' } }, 'access_denied'],
    ['a 403 of HTML', { status: 403, body: '<html>' }, 'status 403'],
    ['a 404', { status: 404 }, 'status 404'],
    ['no client_id', { status: 201, body: { client_name: 'x' } }, 'no client_id'],
    [
      'an unusable method',
      { status: 201, body: { ...REGISTERED, token_endpoint_auth_method: 'tls_client_auth' } },
      '(tls_client_auth)',
    ],
  ])('a registration that is answered with %s is refused', async (_title, answer, reason) => {
    const failure = await refused({ '/register': answer })
    expect(failure.code).toBe('registration_refused')
    expect(failure.message).toMatch(/^127.0.0.1:\d+ refused to register a client: /)
    expect(failure.message).toContain(reason)
  })

  test.each([{ status: 429 }, { status: 503 }, { body: '<html>' }])(
    'a registration that is answered with %j may succeed later',
    async (answer) => {
      expect(await refused({ '/register': answer })).toMatchObject({ code: 'unavailable' })
    },
  )
})
