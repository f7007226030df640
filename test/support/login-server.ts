import { randomUUID } from 'node:crypto'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { openDualEra } from '../fixtures/http/dual-era.ts'
import { openHttp } from '../fixtures/http/sites.ts'

const METADATA = '/.well-known/oauth-protected-resource/mcp'

/** A real MCP server that needs a login, and the issuer of its tokens, both on loopback. Closed after the test. */
export async function openLoginServer(scopes: readonly string[] = ['read', 'write']) {
  const seen = { registrations: 0, revocations: 0, tokens: 0, codes: [] as string[] }
  /** What the next user does, and the site where the issuer lets its users log in. */
  const next = { decision: 'allow' as 'allow' | 'deny', via: '' }
  const tokens = new Set<string>()

  const issuer = await openHttp(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', issuer.origin)
    if (pathname === '/.well-known/oauth-authorization-server')
      return sendJson(response, metadataOf(issuer.origin))
    if (pathname === '/register') {
      seen.registrations += 1
      return sendJson(response, { client_id: randomUUID(), token_endpoint_auth_method: 'none' }, 201)
    }
    if (pathname === '/authorize') {
      const back = new URL(query.get('redirect_uri') ?? '')
      const code = randomUUID()
      if (next.decision === 'allow') seen.codes.push(code)
      const answer = next.decision === 'allow' ? { code } : { error: 'access_denied' }
      for (const [name, value] of Object.entries({
        ...answer,
        state: query.get('state') ?? '',
        iss: issuer.origin,
      }))
        back.searchParams.set(name, value)
      const location = next.via === '' ? back.href : `${next.via}?back=${encodeURIComponent(back.href)}`
      return void response.writeHead(302, { location }).end()
    }
    if (pathname === '/token') {
      const refresh = new URLSearchParams(await textOf(request)).get('refresh_token')
      if (refresh !== null && !tokens.has(refresh)) return sendJson(response, { error: 'invalid_grant' }, 400)
      const [access_token, refresh_token] = [randomUUID(), randomUUID()]
      tokens.add(access_token).add(refresh_token)
      seen.tokens += 1
      const answer = { access_token, refresh_token, token_type: 'Bearer', expires_in: 3600 }
      return sendJson(response, { ...answer, scope: scopes.join(' ') })
    }
    if (pathname === '/revoke') seen.revocations += 1
    response.writeHead(pathname === '/revoke' ? 200 : 404).end()
  })

  const real = await openDualEra()
  const server = await openHttp((request, response) => {
    if (request.url === METADATA)
      return sendJson(response, { resource: `${server.origin}/mcp`, authorization_servers: [issuer.origin] })
    const given = request.headers.authorization?.replace('Bearer ', '') ?? ''
    if (tokens.has(given)) return forward(real.url, request, response)
    const challenge = `Bearer resource_metadata="${server.origin}${METADATA}", scope="${scopes.join(' ')}"`
    response.writeHead(request.url === '/mcp' ? 401 : 404, { 'www-authenticate': challenge }).end()
  })
  onTestFinished(async () => {
    for (const site of [server, issuer, real]) await site.close()
  })
  return {
    url: `${server.origin}/mcp`,
    issuer: issuer.origin,
    seen,
    next,
    /** No token is accepted any more, and none is renewed. */
    expire: () => tokens.clear(),
  }
}

const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  revocation_endpoint: `${issuer}/revoke`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
  authorization_response_iss_parameter_supported: true,
})

const sendJson = (response: ServerResponse, body: object, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

function forward(target: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request
  const sent = httpRequest(target, { method: method ?? 'GET', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  sent.on('error', () => response.destroy())
  response.on('close', () => sent.destroy())
  request.pipe(sent)
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  return text
}
