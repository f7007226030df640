import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { beginAuthorization, readCallback } from './authorization.ts'
import type { IssuerInfo } from './issuer-metadata.ts'
import { documentClient } from './oauth-clients.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { chooseScopes, scopesIn } from './scopes.ts'

const ISSUER: IssuerInfo = {
  issuer: 'https://auth.example.com',
  authorization_endpoint: 'https://auth.example.com/authorize?tenant=1',
  token_endpoint: 'https://auth.example.com/token',
  authorization_response_iss_parameter_supported: false,
  client_id_metadata_document_supported: false,
}
const REQUEST = {
  issuer: ISSUER,
  client: documentClient('https://toolroom.example/client.json'),
  redirectUri: 'http://127.0.0.1:8665/oauth/callback',
  scopes: ['a', 'b'],
  resource: 'https://mcp.example.com',
}

describe('the authorization request', () => {
  test('carries PKCE with S256, a state of 256 bits, and the resource as it is written', async () => {
    const { url, state, verifier } = await beginAuthorization(REQUEST)
    const { origin, pathname, searchParams } = new URL(url)
    expect(`${origin}${pathname}`).toBe('https://auth.example.com/authorize')
    expect(Object.fromEntries(searchParams)).toEqual({
      tenant: '1',
      response_type: 'code',
      client_id: 'https://toolroom.example/client.json',
      redirect_uri: 'http://127.0.0.1:8665/oauth/callback',
      scope: 'a b',
      resource: 'https://mcp.example.com',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    expect(Buffer.from(state, 'base64url')).toHaveLength(32)
    expect(Buffer.from(verifier, 'base64url')).toHaveLength(32)
    const again = await beginAuthorization(REQUEST)
    expect(again.state).not.toBe(state)
    expect(again.verifier).not.toBe(verifier)
  })

  test('leaves out what there is none of, and asks for consent with offline_access', async () => {
    const bare = new URL((await beginAuthorization({ ...REQUEST, scopes: [], resource: null })).url)
      .searchParams
    expect([bare.has('scope'), bare.has('resource'), bare.has('prompt')]).toEqual([false, false, false])
    const offline = await beginAuthorization({ ...REQUEST, scopes: ['offline_access'] })
    expect(new URL(offline.url).searchParams.get('prompt')).toBe('consent')
  })
})

describe('the callback', () => {
  const STATE = 'x'.repeat(43)
  const read = (query: string, own: Partial<IssuerInfo> = {}) => {
    try {
      return readCallback(new URLSearchParams(query), { state: STATE, issuer: { ...ISSUER, ...own } }).code
    } catch (error) {
      if (error instanceof OAuthFailure) return error
      throw error
    }
  }
  const SUPPORTED = { authorization_response_iss_parameter_supported: true }
  const iss = (value: string) => `iss=${encodeURIComponent(value)}`
  const GOOD = `state=${STATE}&code=c1`

  test.each([
    [`${GOOD}&${iss(ISSUER.issuer)}`, SUPPORTED],
    [`${GOOD}&${iss(ISSUER.issuer)}`, {}],
    [GOOD, {}],
  ])('%s is accepted', (query, own) => {
    expect(read(query, own)).toBe('c1')
  })

  test.each([
    ['iss is advertised and absent', GOOD, SUPPORTED],
    ['iss is another issuer', `${GOOD}&${iss('https://evil.example.com')}`, SUPPORTED],
    ['iss is another issuer and not advertised', `${GOOD}&${iss('https://evil.example.com')}`, {}],
    [
      'iss has a slash more (simple comparison of RFC 9207)',
      `${GOOD}&${iss(`${ISSUER.issuer}/`)}`,
      SUPPORTED,
    ],
    ['iss is there twice', `${GOOD}&${iss(ISSUER.issuer)}&${iss(ISSUER.issuer)}`, SUPPORTED],
    [
      'an error comes from another issuer',
      `state=${STATE}&error=access_denied&${iss('https://evil.example.com')}`,
      {},
    ],
  ])('when %s, the callback is refused and nothing of it is shown', (_title, query, own) => {
    const failure = read(query, own)
    expect(failure).toMatchObject({
      code: 'issuer_mismatch',
      message: 'The callback does not come from auth.example.com',
    })
    expect(JSON.stringify(failure)).not.toMatch(/evil|access_denied|c1/)
  })

  test('the state is checked before everything else', () => {
    for (const query of [
      'code=c1',
      `state=${'y'.repeat(43)}&code=c1`,
      `state=${STATE}&state=${STATE}&code=c1`,
      `state=short&error=access_denied&${iss('https://evil.example.com')}`,
    ])
      expect(read(query, SUPPORTED)).toMatchObject({
        code: 'unavailable',
        message: 'This callback does not belong to the pending login',
      })
  })

  test.each([
    ['access_denied', 'access_denied'],
    ['consent_required', 'access_denied'],
    ['invalid_scope', 'invalid_scope'],
    ['unauthorized_client', 'client_refused'],
    ['invalid_target', 'resource_mismatch'],
    ['temporarily_unavailable', 'unavailable'],
    ['something_else', 'unavailable'],
  ])('the error %s comes before the code and means %s', (error, code) => {
    expect(read(`${GOOD}&error=${error}&error_description=Not%20now%0A%1b[31m`)).toMatchObject({
      code,
      message: `auth.example.com refused the login: ${error} (Not now)`,
    })
  })

  test.each([[`state=${STATE}`], [`state=${STATE}&code=`], [`${GOOD}&code=c2`]])(
    '%s has no code',
    (query) => {
      expect(read(query)).toMatchObject({ code: 'unavailable' })
    },
  )
})

describe('scopes', () => {
  const NONE = { configured: null, challenge: null, resource: null, askedBefore: [], issuer: {} }
  const OFFLINE = { scopes_supported: ['a', 'offline_access'] }
  test.each([
    ['the configured ones come first', { configured: ['c'], challenge: ['h'], resource: ['r'] }, ['c']],
    ['then those of the challenge', { challenge: ['h'], resource: ['r'] }, ['h']],
    ['then those of the resource', { configured: [], resource: ['r', 's'] }, ['r', 's']],
    ['else none', {}, []],
    [
      'more scopes are added to those that were requested before',
      { challenge: ['w', 'a'], askedBefore: ['a', 'b'] },
      ['a', 'b', 'w'],
    ],
    [
      'offline_access is added if the issuer lists it',
      { challenge: ['h'], issuer: OFFLINE },
      ['h', 'offline_access'],
    ],
    ['offline_access alone would replace the default scopes', { issuer: OFFLINE }, []],
    [
      'offline_access is left out after invalid_scope',
      { challenge: ['h'], askedBefore: ['h', 'offline_access'], issuer: OFFLINE, offline: false },
      ['h'],
    ],
    [
      'no other scope of the issuer is requested',
      { challenge: ['h'], issuer: { scopes_supported: ['x'] } },
      ['h'],
    ],
  ])('%s', (_title, own, expected) => {
    expect(chooseScopes({ ...NONE, ...own })).toEqual(expected)
  })

  test.each([
    ['a b', ['a', 'b']],
    [' a,b  a ', ['a', 'b']],
    ['a "b" c\\d', ['a']],
    ['', null],
    [' ', null],
    [undefined, null],
  ])('the text %j contains the scopes %j', (text, scopes) => {
    expect(scopesIn(text)).toEqual(scopes)
  })
})
