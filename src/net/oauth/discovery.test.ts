import { describe, expect, onTestFinished, test } from 'vitest'
import { type Answers, METADATA, metadataOf, openIssuer } from '../../../test/fixtures/oauth-quirks/issuer.ts'
import { discoverIssuer } from './discover-issuer.ts'
import { discoverResource } from './discover-resource.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { OAuthHttp } from './oauth-http.ts'
import { bearerChallenge } from './www-authenticate.ts'

const RESOURCE = '/.well-known/oauth-protected-resource'
const OPENID = '/.well-known/openid-configuration'

async function opened(answersAt: (origin: string) => Answers) {
  const issuer = await openIssuer(answersAt)
  const serverUrl = new URL(issuer.origin)
  const http = new OAuthHttp({ serverUrl, network: {}, version: '1', ownOrigins: () => [] })
  onTestFinished(async () => {
    http.close()
    await issuer.close()
  })
  const paths = () => issuer.requests.map(({ path }) => path)
  return { ...issuer, http, paths }
}

const failureOf = (work: Promise<unknown>): Promise<OAuthFailure> =>
  work.then(
    () => expect.unreachable('the discovery succeeded'),
    (error: unknown) => (error instanceof OAuthFailure ? error : expect.unreachable(String(error))),
  )

describe('the resource (RFC 9728)', () => {
  const metadata = (resource: string, own = {}) => ({
    body: { resource, authorization_servers: ['https://a.example', 'https://b.example'], ...own },
  })

  test('the URL of the challenge comes first, then the well-known URL with the path, then the root', async () => {
    const { origin, http, paths, requests } = await opened((at) => ({
      '/custom.json': metadata(`${at}/mcp`, { scopes_supported: ['a', 'b c', 'b'] }),
      [`${RESOURCE}/path/mcp`]: metadata(`${at}/path`),
      [RESOURCE]: metadata(at),
    }))
    const challenge = bearerChallenge(`Basic, Bearer resource_metadata="${origin}/custom.json"`)
    expect(await discoverResource(http, new URL(`${origin}/mcp`), challenge)).toEqual({
      resource: `${origin}/mcp`,
      issuers: ['https://a.example', 'https://b.example'],
      scopes: ['a', 'b'],
      isLegacy: false,
    })
    expect(await discoverResource(http, new URL(`${origin}/path/mcp/`))).toMatchObject({
      resource: `${origin}/path`,
    })
    // As written: a pathless resource gets no slash.
    expect(await discoverResource(http, new URL(`${origin}/other`))).toMatchObject({ resource: origin })
    const named = bearerChallenge(`Bearer resource_metadata="${origin}/gone.json"`)
    expect(await discoverResource(http, new URL(`${origin}/`), named)).toMatchObject({ resource: origin })
    const other = `${RESOURCE}/other`
    expect(paths()).toEqual(['/custom.json', `${RESOURCE}/path/mcp`, other, RESOURCE, '/gone.json', RESOURCE])
    expect(requests.every(({ headers }) => headers.authorization === undefined)).toBe(true)
  })

  test.each([
    ['/mcp', '', true],
    ['/mcp', '/', true],
    ['/mcp', '/mcp', true],
    ['/mcp', '/mcp/', true],
    ['/mcp/', '/mcp', true],
    ['/mcp/v1', '/mcp', true],
    ['/mcp?tenant=1', '/mcp', true],
    ['/mcp?tenant=1', '/mcp?tenant=1', true],
    ['/mcp?tenant=1', '/mcp?tenant=2', false],
    ['/mcp', '/mc', false],
    ['/mcp', '/mcp/v1', false],
    ['/mcp', '/MCP', false],
    ['/mcp', '/mcp#x', false],
  ])('for the path %s, the resource at %j is accepted: %s', async (path, resource, accepted) => {
    const { origin, http } = await opened((at) => ({
      [`${RESOURCE}${path.replace(/[?].*|\/$/, '')}`]: metadata(`${at}${resource}`),
    }))
    const work = discoverResource(http, new URL(`${origin}${path}`))
    if (accepted) expect((await work).resource).toBe(`${origin}${resource}`)
    else expect(await failureOf(work)).toMatchObject({ code: 'resource_mismatch' })
  })

  test.each([
    ['https://evil.example.com/mcp', 'at evil.example.com'],
    ['https://evil.example.com', 'at evil.example.com'], // the path alone would do
    ['http://127.0.0.1:1', 'at 127.0.0.1:1'],
    ['http://user@127.0.0.1/mcp', 'for another resource'],
    ['urn:mcp', 'for another resource'],
    ['not a url', 'something that is not a URL'],
  ])('metadata for the resource %s is refused', async (resource, reason) => {
    const { origin, http } = await opened(() => ({ [RESOURCE]: metadata(resource) }))
    const failure = await failureOf(discoverResource(http, new URL(origin)))
    expect(failure).toMatchObject({ code: 'resource_mismatch', message: expect.stringContaining(reason) })
  })

  test('a server without metadata is its own issuer (MCP 2025-03-26); so is one whose metadata names none', async () => {
    const { origin, http } = await opened((at) => ({
      [`${RESOURCE}/page`]: { body: '<html>the application</html>' },
      [`${RESOURCE}/json`]: { body: { error: 'not found' } },
      [`${RESOURCE}/bare`]: { body: { resource: `${at}/bare`, authorization_servers: null } },
    }))
    const legacy = { resource: null, issuers: [origin], scopes: null, isLegacy: true }
    for (const path of ['/none', '/page', '/json'])
      expect(await discoverResource(http, new URL(path, origin))).toEqual(legacy)
    expect(await discoverResource(http, new URL('/bare', origin))).toEqual({
      ...legacy,
      resource: `${origin}/bare`,
    })
  })

  test('a server that cannot answer now is not taken for one without metadata', async () => {
    const { origin, http, paths } = await opened(() => ({ [`${RESOURCE}/mcp`]: { status: 503 } }))
    expect(await failureOf(discoverResource(http, new URL('/mcp', origin)))).toMatchObject({
      code: 'unavailable',
    })
    expect(paths()).toEqual([`${RESOURCE}/mcp`])
  })

  test('the URL of a challenge must be permitted', async () => {
    const { origin, http, requests } = await opened(() => ({}))
    for (const url of [
      'javascript:alert(1)',
      'https://169.254.169.254/x',
      'http://auth.example.com/',
      'nonsense',
    ]) {
      const challenge = { scheme: 'bearer', params: { resource_metadata: url } }
      const failure = await failureOf(discoverResource(http, new URL(origin), challenge))
      expect(failure.code).toBe('unavailable')
    }
    expect(requests).toEqual([])
  })
})

describe('the issuer (RFC 8414)', () => {
  test('RFC 8414 inserted, OpenID Connect inserted, OpenID Connect appended, in this order', async () => {
    const { origin, http, paths } = await opened((at) => ({
      [`/a${OPENID}`]: { body: metadataOf(`${at}/a`) },
      [OPENID]: {
        body: { ...metadataOf(at), extra: { unknown: true }, scopes_supported: ['a', 'offline_access'] },
      },
    }))
    expect(await discoverIssuer(http, `${origin}/a`, { isLegacy: false })).toMatchObject({
      issuer: `${origin}/a`,
    })
    expect(paths()).toEqual([`${METADATA}/a`, `${OPENID}/a`, `/a${OPENID}`])
    expect(await discoverIssuer(http, origin, { isLegacy: false })).toEqual({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      scopes_supported: ['a', 'offline_access'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      authorization_response_iss_parameter_supported: false,
      client_id_metadata_document_supported: false,
    })
    expect(paths().slice(3)).toEqual([METADATA, OPENID])
  })

  test.each([
    ['', '', true],
    ['', '/', true],
    ['/', '', true],
    ['/a', '/a', true],
    ['/a', '/a/', false],
    ['/a/', '/a', false],
    ['/a', '', false],
    ['', '/a', false],
  ])(
    'asked at %j, the issuer %j is accepted: only the slash of an empty path may differ',
    async (asked, named, accepted) => {
      const { origin, http } = await opened((at) => ({
        [`${METADATA}${asked === '/' ? '' : asked.replace(/\/$/, '')}`]: {
          body: { ...metadataOf(at), issuer: `${at}${named}` },
        },
      }))
      const work = discoverIssuer(http, `${origin}${asked}`, { isLegacy: true })
      if (accepted) expect((await work).issuer).toBe(`${origin}${named}`)
      else expect(await failureOf(work)).toMatchObject({ code: 'issuer_mismatch' })
    },
  )

  test('metadata of another issuer is refused, and not used when a later URL has the right one', async () => {
    const { origin, http, paths } = await opened((at) => ({
      [METADATA]: { body: { ...metadataOf(at), issuer: 'https://attacker.example.com' } },
      [`${METADATA}/tenant`]: { body: metadataOf(at) },
      [`/tenant${OPENID}`]: { body: metadataOf(`${at}/tenant`) },
    }))
    const failure = await failureOf(discoverIssuer(http, origin, { isLegacy: true }))
    expect(failure).toMatchObject({
      code: 'issuer_mismatch',
      message: expect.stringContaining('another issuer, attacker.example.com'),
    })
    expect(await discoverIssuer(http, `${origin}/tenant`, { isLegacy: false })).toMatchObject({
      token_endpoint: `${origin}/tenant/token`,
    })
    expect(paths().every((path) => path.includes('.well-known'))).toBe(true)
  })

  test('5xx and 429 end the search; other statuses and pages of HTML do not', async () => {
    for (const status of [500, 503, 429]) {
      const { origin, http, paths } = await opened((at) => ({
        [METADATA]: { status },
        [OPENID]: { body: metadataOf(at) },
      }))
      expect(await failureOf(discoverIssuer(http, origin, { isLegacy: true }))).toMatchObject({
        code: 'unavailable',
      })
      expect(paths()).toEqual([METADATA])
    }
    for (const answer of [{ status: 401 }, { status: 405 }, { body: '<html>' }, { body: [] }]) {
      const { origin, http } = await opened((at) => ({
        [METADATA]: answer,
        [OPENID]: { body: metadataOf(at) },
      }))
      expect(await discoverIssuer(http, origin, { isLegacy: false })).toMatchObject({ issuer: origin })
    }
  })

  test('without metadata, a legacy issuer has the default endpoints, and any other is refused', async () => {
    const { origin, http } = await opened(() => ({}))
    expect(await discoverIssuer(http, origin, { isLegacy: true })).toEqual({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      authorization_response_iss_parameter_supported: false,
      client_id_metadata_document_supported: false,
    })
    const failure = await failureOf(discoverIssuer(http, origin, { isLegacy: false }))
    expect(failure).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('publishes no metadata'),
    })
  })

  test.each([[undefined], [null], [[]], [['plain']], ['S256']])(
    'an issuer with code_challenge_methods_supported %j is refused, except for client credentials',
    async (methods) => {
      const { origin, http } = await opened((at) => ({
        [METADATA]: { body: { ...metadataOf(at), code_challenge_methods_supported: methods } },
      }))
      expect(await failureOf(discoverIssuer(http, origin, { isLegacy: false }))).toMatchObject({
        code: 'pkce_missing',
      })
      const info = await discoverIssuer(http, origin, { isLegacy: false, browser: false })
      expect(info.token_endpoint).toBe(`${origin}/token`)
    },
  )

  test.each([
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['authorization_endpoint', 'http://auth.example.com/authorize'],
    ['token_endpoint', 'https://169.254.169.254/token'],
    ['token_endpoint', 'https://user:pw@auth.example.com/token'],
    ['registration_endpoint', 'https://auth.example.com/register#x'],
    ['revocation_endpoint', '/revoke'],
    ['token_endpoint', undefined],
    ['authorization_endpoint', 7],
  ])('an issuer whose %s is %s is refused', async (name, value) => {
    const { origin, http } = await opened((at) => ({
      [METADATA]: { body: { ...metadataOf(at), [name]: value } },
    }))
    const failure = await failureOf(discoverIssuer(http, origin, { isLegacy: false }))
    expect(failure).toMatchObject({ code: 'unavailable', message: expect.stringContaining(name) })
  })
})
