import { describe, expect, onTestFinished, test } from 'vitest'
import { plainIssuer } from '../../../test/fixtures/oauth-quirks/issuer.ts'
import { discoverIssuer } from './discover-issuer.ts'
import type { IssuerInfo } from './issuer-metadata.ts'
import { documentClient, givenClient, registerClient } from './oauth-clients.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { OAuthHttp } from './oauth-http.ts'
import { revokeToken } from './tokens.ts'

const REDIRECT = 'http://127.0.0.1:8665/oauth/callback'

async function opened(answers: Parameters<typeof plainIssuer>[0] = () => ({})) {
  const server = await plainIssuer(answers)
  const serverUrl = new URL(server.origin)
  const http = new OAuthHttp({ serverUrl, network: {}, version: '1', ownOrigins: () => [] })
  onTestFinished(async () => {
    http.close()
    await server.close()
  })
  const issuer = await discoverIssuer(http, server.origin, { isLegacy: false })
  const sentTo = (path: string) => server.requests.filter((each) => each.path === path)
  return { http, issuer, sentTo }
}

describe('registration (RFC 7591)', () => {
  test('a native client registers its redirect URI, both grants and the scopes, as a public client if offered', async () => {
    const { http, issuer, sentTo } = await opened()
    await registerClient(http, issuer, { redirectUri: REDIRECT, scopes: ['a', 'b'] })
    expect(JSON.parse(sentTo('/register')[0]?.body ?? '')).toEqual({
      client_name: 'Toolroom',
      redirect_uris: [REDIRECT],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'a b',
    })
    expect(sentTo('/register')[0]?.headers).not.toHaveProperty('authorization')
  })

  test.each<[string, Partial<IssuerInfo>, string, object]>([
    [
      'a public URL belongs to a web application',
      {},
      'https://toolroom.example.com/oauth/callback',
      { application_type: 'web' },
    ],
    [
      'localhost belongs to a native application',
      {},
      'http://localhost:8665/oauth/callback',
      { application_type: 'native' },
    ],
    [
      'only supported grants are registered',
      { grant_types_supported: ['authorization_code'] },
      REDIRECT,
      { grant_types: ['authorization_code'] },
    ],
    [
      'a secret in the header is preferred',
      { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] },
      REDIRECT,
      { token_endpoint_auth_method: 'client_secret_basic' },
    ],
    [
      'a secret in the body is used if nothing else is offered',
      { token_endpoint_auth_methods_supported: ['client_secret_post', 'tls_client_auth'] },
      REDIRECT,
      { token_endpoint_auth_method: 'client_secret_post' },
    ],
  ])('%s', async (_title, own, redirectUri, expected) => {
    const { http, issuer, sentTo } = await opened()
    await registerClient(http, { ...issuer, ...own }, { redirectUri, scopes: [] })
    const sent = JSON.parse(sentTo('/register')[0]?.body ?? '')
    expect(sent).toMatchObject(expected)
    expect(sent).not.toHaveProperty('scope')
  })

  test('a secret that expires is kept with its time; the default without a list is a secret in the header', async () => {
    const body = { client_id: 'c', client_secret: 's', client_secret_expires_at: '1900000000' }
    const { http, issuer } = await opened(() => ({ '/register': { status: 201, body } }))
    const { token_endpoint_auth_methods_supported: _, ...unlisted } = issuer
    expect(await registerClient(http, unlisted, { redirectUri: REDIRECT, scopes: [] })).toEqual({
      kind: 'registered',
      client_id: 'c',
      client_secret: 's',
      auth_method: 'client_secret_basic',
      secret_expires_at: 1_900_000_000_000,
    })
  })

  test('an issuer that accepts only methods that Toolroom has no credentials for needs a given client', async () => {
    const { http, issuer, sentTo } = await opened()
    const strict = { ...issuer, token_endpoint_auth_methods_supported: ['private_key_jwt'] }
    const work = registerClient(http, strict, { redirectUri: REDIRECT, scopes: [] })
    await expect(work).rejects.toMatchObject({
      code: 'client_needed',
      hint: expect.stringContaining(REDIRECT),
    })
    expect(sentTo('/register')).toEqual([])
  })
})

test('a given client authenticates with what it was given, in the way that the issuer offers', async () => {
  const { issuer } = await opened()
  const methodOf = (config: object, offered?: string[]) => {
    const { token_endpoint_auth_methods_supported: _, ...unlisted } = issuer
    const info = offered ? { ...unlisted, token_endpoint_auth_methods_supported: offered } : unlisted
    return givenClient({ client_id: 'c', ...config }, info).auth_method
  }
  expect(methodOf({})).toBe('none')
  expect(methodOf({ client_secret: 's' })).toBe('client_secret_basic')
  expect(methodOf({ client_secret: 's' }, ['client_secret_post'])).toBe('client_secret_post')
  expect(methodOf({ client_secret: 's' }, ['client_secret_post', 'client_secret_basic'])).toBe(
    'client_secret_basic',
  )
  expect(methodOf({ client_secret: 's' }, ['none'])).toBe('client_secret_basic')
  expect(methodOf({ private_key: 'k', client_secret: 's' })).toBe('private_key_jwt')
  expect(documentClient('https://x.example/c.json')).toEqual({
    kind: 'document',
    client_id: 'https://x.example/c.json',
    auth_method: 'none',
  })
})

test('a token is revoked at the endpoint for it (RFC 7009); without one nothing is requested', async () => {
  const { http, issuer, sentTo } = await opened()
  const client = givenClient({ client_id: 'c' }, issuer)
  await revokeToken({ http, issuer, client, token: 'refresh-1' })
  const { revocation_endpoint: _, ...without } = issuer
  await revokeToken({ http, issuer: without, client, token: 'refresh-1' })
  expect(sentTo('/revoke').map(({ body }) => body)).toEqual(['token=refresh-1&client_id=c'])
  const refusing = await opened(() => ({
    '/revoke': { status: 400, body: { error: 'refresh-1 is unknown' } },
  }))
  const failure = await revokeToken({ ...refusing, client, token: 'refresh-1' }).catch(
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(OAuthFailure)
  expect((failure as OAuthFailure).message).toContain('*** is unknown')
})
