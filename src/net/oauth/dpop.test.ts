import { createHash, createPublicKey, verify } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { plainIssuer, type Request, TOKENS } from '../../../test/fixtures/oauth-quirks/issuer.ts'
import { HttpClient } from '../http-client.ts'
import { discoverIssuer } from './discover-issuer.ts'
import { needsProof, newProofKey, proofSigner } from './dpop.ts'
import { givenClient } from './oauth-clients.ts'
import { OAuthHttp } from './oauth-http.ts'
import { exchangeCode, refreshTokens } from './tokens.ts'

/** The claims of a proof whose signature is valid. */
function claimsOf(proof: unknown) {
  const [header = '', payload = '', signature = ''] = String(proof).split('.')
  const parsed = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const { typ, alg, jwk } = parsed(header)
  expect([typ, alg, Object.keys(jwk)]).toEqual(['dpop+jwt', 'ES256', ['kty', 'crv', 'x', 'y']])
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const data = Buffer.from(`${header}.${payload}`)
  const options = { key, dsaEncoding: 'ieee-p1363' } as const
  expect(verify('sha256', data, options, Buffer.from(signature, 'base64url'))).toBe(true)
  return { jwk, ...parsed(payload) }
}

test('a proof is signed for one method, one URL without its query, one token and the last nonce (RFC 9449)', () => {
  const signer = proofSigner(newProofKey(), 'the-token')
  const url = new URL('https://mcp.example.com/mcp?tenant=1#x')
  const first = claimsOf(signer.proof('POST', url))
  expect(first).toMatchObject({
    htm: 'POST',
    htu: 'https://mcp.example.com/mcp',
    ath: createHash('sha256').update('the-token').digest('base64url'),
  })
  expect(first).not.toHaveProperty('nonce')
  signer.nonce = 'n1'
  const second = claimsOf(signer.proof('GET', url))
  expect(second).toMatchObject({ htm: 'GET', nonce: 'n1', jwk: first.jwk })
  expect(second.jti).not.toBe(first.jti)
})

test('tokens are bound to a key only if the server asks for that and the issuer can do it', async () => {
  const server = await plainIssuer()
  onTestFinished(() => server.close())
  const http = new OAuthHttp({
    serverUrl: new URL(server.origin),
    network: {},
    version: '1',
    ownOrigins: () => [],
  })
  onTestFinished(() => http.close())
  const issuer = await discoverIssuer(http, server.origin, { isLegacy: false })
  const able = { ...issuer, dpop_signing_alg_values_supported: ['RS256', 'ES256'] }
  const challenge = (scheme: string) => ({ scheme, params: {} })
  expect(needsProof(challenge('dpop'), able)).toBe(true)
  expect(needsProof(challenge('bearer'), able)).toBe(false)
  expect(needsProof(undefined, able)).toBe(false)
  expect(needsProof(challenge('dpop'), issuer)).toBe(false)
  expect(needsProof(challenge('dpop'), { ...issuer, dpop_signing_alg_values_supported: ['RS256'] })).toBe(
    false,
  )
})

describe('requests with proofs', () => {
  test('the token endpoint gets a proof, with its nonce after it asked for one; the same key renews the tokens', async () => {
    const claims: Record<string, unknown>[] = []
    const answer = ({ headers }: Request) => {
      const proof = claimsOf(headers.dpop)
      claims.push(proof)
      if (proof.nonce !== 'n1')
        return { status: 400, headers: { 'dpop-nonce': 'n1' }, body: { error: 'use_dpop_nonce' } }
      return { body: { ...TOKENS, token_type: 'DPoP' } }
    }
    const server = await plainIssuer(() => ({ '/token': answer }))
    const http = new OAuthHttp({
      serverUrl: new URL(server.origin),
      network: {},
      version: '1',
      ownOrigins: () => [],
    })
    onTestFinished(async () => {
      http.close()
      await server.close()
    })
    const issuer = await discoverIssuer(http, server.origin, { isLegacy: false })
    const client = givenClient({ client_id: 'c' }, issuer)
    const dpopKey = newProofKey()
    const request = { http, issuer, client, resource: null, dpopKey }
    const code = { code: 'code-1', verifier: 'v', redirectUri: 'http://127.0.0.1/cb' }
    expect(await exchangeCode({ ...request, ...code })).toMatchObject({ dpop_key: dpopKey })
    expect(await refreshTokens({ ...request, refreshToken: 'r' })).toMatchObject({ dpop_key: dpopKey })
    expect(claims.map(({ nonce }) => nonce)).toEqual([undefined, 'n1', undefined, 'n1'])
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(4)
    expect(claims.every(({ htu, htm }) => htu === `${server.origin}/token` && htm === 'POST')).toBe(true)
  })

  test('an issuer that answers with a Bearer token has not bound it', async () => {
    const server = await plainIssuer()
    const http = new OAuthHttp({
      serverUrl: new URL(server.origin),
      network: {},
      version: '1',
      ownOrigins: () => [],
    })
    onTestFinished(async () => {
      http.close()
      await server.close()
    })
    const issuer = await discoverIssuer(http, server.origin, { isLegacy: false })
    const client = givenClient({ client_id: 'c' }, issuer)
    const request = { http, issuer, client, resource: null, refreshToken: 'r' }
    expect(await refreshTokens({ ...request, dpopKey: newProofKey() })).not.toHaveProperty('dpop_key')
  })

  test('the server gets a new proof with every request, and a request is repeated once for a nonce', async () => {
    const claims: Record<string, unknown>[] = []
    let accepted = 'n1'
    const site = await openHttp((request, response) => {
      const proof = claimsOf(request.headers.dpop)
      claims.push(proof)
      if (proof.nonce === accepted) return void response.end('ok')
      const challenge = { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n1' }
      response.writeHead(401, challenge).end()
    })
    const token = {
      header: 'DPoP t',
      renewAt: Number.POSITIVE_INFINITY,
      signer: proofSigner(newProofKey(), 't'),
    }
    const refusals: unknown[] = []
    const client = new HttpClient({
      url: new URL(site.origin),
      userAgent: 'test',
      authorizer: {
        current: { token },
        authorization: async () => token.header,
        refused: async (refusal) => {
          refusals.push(refusal)
          return false
        },
      },
    })
    onTestFinished(async () => {
      client.close()
      await site.close()
    })
    const send = async () => {
      const response = await client.request({
        method: 'POST',
        url: new URL(site.origin),
        body: 'x',
        timeoutMs: 5000,
      })
      return [response.status, (await response.read(1000)).toString()]
    }
    expect(await send()).toEqual([200, 'ok'])
    expect(await send()).toEqual([200, 'ok'])
    expect(claims.map((each) => each.nonce)).toEqual([undefined, 'n1', 'n1'])
    expect(refusals).toEqual([])
    // A server whose nonce is never right gets two requests, not more.
    accepted = 'another'
    expect((await send())[0]).toBe(401)
    expect(claims).toHaveLength(5)
    expect(refusals).toHaveLength(1)
  })
})
