import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openAuthorizationServer } from '../../../test/fixtures/oauth/authorization-server.ts'
import { UserAgent } from '../../../test/support/user-agent.mjs'
import { beginAuthorization, readCallback } from './authorization.ts'
import { discoverIssuer } from './discover-issuer.ts'
import { needsProof, newProofKey } from './dpop.ts'
import { givenClient, registerClient } from './oauth-clients.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { OAuthHttp } from './oauth-http.ts'
import { clientCredentials, exchangeCode, refreshTokens, revokeToken } from './tokens.ts'

const REDIRECT = 'http://127.0.0.1:8665/oauth/callback'
const SCOPES = ['openid', 'email', 'offline_access', 'mcp:read']

const failureOf = (work: Promise<unknown>): Promise<OAuthFailure> =>
  work.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => (error instanceof OAuthFailure ? error : expect.unreachable(String(error))),
  )

async function opened(options: Parameters<typeof openAuthorizationServer>[0] = {}) {
  const server = await openAuthorizationServer(options)
  const serverUrl = new URL(server.origin)
  const http = new OAuthHttp({ serverUrl, network: {}, version: '1', ownOrigins: () => [] })
  onTestFinished(async () => {
    http.close()
    await server.close()
  })
  return { server, http, issuer: await discoverIssuer(http, server.issuer, { isLegacy: false }) }
}

/** A person opens the URL and presses a button. */
async function decide(url: string, decision: 'allow' | 'deny'): Promise<URLSearchParams> {
  const browser = new UserAgent()
  const until = ({ href }: URL) => href.startsWith(REDIRECT)
  const page = await browser.open(url)
  const back = await browser.open(page.url, { form: { decision }, from: page.url, until })
  return new URL(back.url).searchParams
}

describe('a real authorization server (oidc-provider)', () => {
  test.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'a registered client that authenticates with %s logs in, refreshes with rotation, and revokes',
    async (method) => {
      const { server, http, issuer } = await opened({ authMethods: [method] })
      const resource = `${server.origin}/mcp`
      const client = await registerClient(http, issuer, { redirectUri: REDIRECT, scopes: SCOPES })
      expect(client).toMatchObject({ kind: 'registered', auth_method: method })
      const request = { http, issuer, client, resource }

      const begun = await beginAuthorization({
        issuer,
        client,
        redirectUri: REDIRECT,
        scopes: SCOPES,
        resource,
      })
      const query = await decide(begun.url, 'allow')
      expect(query.get('iss')).toBe(issuer.issuer)
      const { code } = readCallback(query, { state: begun.state, issuer })
      const grant = { ...request, code, verifier: begun.verifier, redirectUri: REDIRECT }
      const before = Date.now()
      const tokens = await exchangeCode(grant)
      expect(tokens.account).toBe('ada@example.com')
      expect(tokens.expires_at).toBeGreaterThan(before + 3_500_000)
      expect(await server.check(tokens.access_token)).toMatchObject({ resource })

      const refreshed = await refreshTokens({ ...request, refreshToken: tokens.refresh_token ?? '' })
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(await server.check(refreshed.access_token)).toMatchObject({ resource })

      await revokeToken({ http, issuer, client, token: refreshed.refresh_token ?? '' })
      const late = await failureOf(refreshTokens({ ...request, refreshToken: refreshed.refresh_token ?? '' }))
      expect(late).toMatchObject({ code: 'invalid_grant', hint: 'Log in again' })
      expect(late.message).not.toContain(refreshed.refresh_token)
    },
  )

  test('a wrong verifier, a used code, an unknown client, an unknown scope and a denial have their own codes', async () => {
    const { http, issuer } = await opened()
    const client = await registerClient(http, issuer, { redirectUri: REDIRECT, scopes: [] })
    const own = { issuer, client, redirectUri: REDIRECT, scopes: ['mcp:read'], resource: null }
    const login = async (decision: 'allow' | 'deny', scopes = own.scopes) => {
      const { url, state, verifier } = await beginAuthorization({ ...own, scopes })
      const { code } = readCallback(await decide(url, decision), { state, issuer })
      return { http, issuer, client, resource: null, code, verifier, redirectUri: REDIRECT }
    }
    expect(await failureOf(login('deny'))).toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('access_denied (The user pressed Deny)'),
    })
    const stolen = {
      ...(await login('allow')),
      verifier: 'another-verifier-that-is-long-enough-for-the-server',
    }
    expect(await failureOf(exchangeCode(stolen))).toMatchObject({ code: 'invalid_grant' })
    const grant = await login('allow')
    await exchangeCode(grant)
    expect(await failureOf(exchangeCode(grant))).toMatchObject({ code: 'invalid_grant' })
    const unknown = { ...client, client_id: 'unknown' }
    expect(await failureOf(exchangeCode({ ...grant, client: unknown }))).toMatchObject({
      code: 'invalid_client',
    })
    const redirected = await failureOf(
      registerClient(http, issuer, {
        redirectUri: 'https://public.example.com/oauth/callback',
        scopes: ['none:such'],
      }),
    )
    expect(redirected).toMatchObject({ code: 'registration_refused' })
  })

  test('a client with a secret or a private key gets tokens without a browser; the audience is the issuer', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const machine = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] as 'none'[] }
    const { server, http, issuer } = await opened({
      authMethods: ['client_secret_basic', 'private_key_jwt'],
      clients: [
        { client_id: 'ma-chine', client_secret: 'a-secret', ...machine },
        {
          client_id: 'signer',
          ...machine,
          token_endpoint_auth_method: 'private_key_jwt',
          jwks: {
            keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'ES256', use: 'sig' } as never],
          },
        },
      ],
    })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const sec1 = privateKey.export({ type: 'sec1', format: 'pem' }).toString()
    const resource = `${server.origin}/mcp`
    for (const config of [
      { client_id: 'ma-chine', client_secret: 'a-secret' },
      { client_id: 'signer', private_key: pem, signing_alg: 'ES256' },
      { client_id: 'signer', private_key: sec1 },
    ]) {
      const client = givenClient(config, issuer)
      const tokens = await clientCredentials({ http, issuer, client, resource, scopes: ['mcp:read'] })
      expect(tokens.refresh_token).toBeNull()
      expect(await server.check(tokens.access_token)).toEqual({ scopes: ['mcp:read'], resource })
    }
    const wrong = givenClient({ client_id: 'ma-chine', client_secret: 'not-it' }, issuer)
    const failure = await failureOf(clientCredentials({ http, issuer, client: wrong, resource, scopes: [] }))
    expect(failure).toMatchObject({ code: 'invalid_client' })
    for (const own of [{ private_key: 'no key' }, { private_key: pem, signing_alg: 'RS256' }]) {
      const broken = givenClient({ client_id: 'signer', ...own }, issuer)
      const refused = await failureOf(
        clientCredentials({ http, issuer, client: broken, resource, scopes: [] }),
      )
      expect(refused).toMatchObject({ code: 'client_refused' })
      expect(refused.message).toContain('oauth.private_key')
    }
  })

  test('tokens can be bound to a key, and only this key renews them (DPoP, RFC 9449)', async () => {
    const { server, http, issuer } = await opened()
    expect(needsProof({ scheme: 'dpop', params: {} }, issuer)).toBe(true)
    const resource = `${server.origin}/mcp`
    const client = await registerClient(http, issuer, { redirectUri: REDIRECT, scopes: SCOPES })
    const own = { issuer, client, redirectUri: REDIRECT, scopes: SCOPES, resource }
    const { url, state, verifier } = await beginAuthorization(own)
    const { code } = readCallback(await decide(url, 'allow'), { state, issuer })
    const request = { http, issuer, client, resource, dpopKey: newProofKey() }
    const tokens = await exchangeCode({ ...request, code, verifier, redirectUri: REDIRECT })
    expect(tokens.dpop_key).toBe(request.dpopKey)
    const refreshToken = tokens.refresh_token ?? ''
    const stolen = { ...request, refreshToken, dpopKey: newProofKey() }
    expect(await failureOf(refreshTokens(stolen))).toMatchObject({ code: 'invalid_grant' })
    expect((await refreshTokens({ ...request, refreshToken })).dpop_key).toBe(request.dpopKey)
  })

  test('without registration, the failure names the redirect URI to register', async () => {
    const { http, issuer } = await opened({ registration: false })
    const failure = await failureOf(registerClient(http, issuer, { redirectUri: REDIRECT, scopes: [] }))
    expect(failure.code).toBe('client_needed')
    expect(failure.hint).toContain(`redirect URI ${REDIRECT}`)
  })
})
