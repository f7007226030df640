import { expect, onTestFinished } from 'vitest'
import { type AuthorizationServer, openAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { openProtected } from '../fixtures/oauth/protected-server.ts'
import { AUTHORISED, openTestService } from './test-service.ts'
import { type Opened, UserAgent } from './user-agent.mjs'

interface Service {
  readonly address: string
}

interface Start {
  readonly authorization_url: string
  readonly start_url: string
  readonly redirect_uri: string
  readonly issuer: string
  readonly issuer_used_by: string[]
  readonly scopes: string[]
  readonly expires_at: string
}

interface Auth {
  readonly state: string
  readonly method: string
  readonly scopes: string[]
  readonly wanted_scopes: string[]
  readonly expires_at: string | null
  readonly issuer: string | null
  readonly client: string | null
  readonly pending_until: string | null
  readonly confirm_until: string | null
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null } | null
}

/** What a user with the token does about logins, over the API of a running service. */
export function userOf({ address }: Service) {
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { ...AUTHORISED, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(`${address}/api${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const must = async (status: number, ...request: Parameters<typeof ask>) => {
    const reply = await ask(...request)
    expect(reply.status, JSON.stringify(reply.body)).toBe(status)
    return reply.body
  }
  const begin = (id: string, body: object = {}): Promise<Start> =>
    must(201, 'POST', `/http-servers/${id}/login`, body)
  return {
    ask,
    must,
    begin,
    add: async (url: string, more: object = {}): Promise<string> =>
      (await must(201, 'POST', '/http-servers', { name: 'remote', url, ...more })).id,
    auth: async (id: string): Promise<Auth> => (await must(200, 'GET', `/http-servers/${id}/login`)).auth,
    call: (id: string, text = 'hello') =>
      ask('POST', `/http-servers/${id}/tools/echo/call`, { arguments: { text } }),
    /** The whole login in a browser, up to the last page. */
    logIn: async (id: string, body: object = {}, agent = new UserAgent()): Promise<Opened> =>
      decide(agent, (await begin(id, body)).authorization_url),
  }
}

/** How long the access token is valid. */
export const leftMs = ({ expires_at }: Auth): number => Date.parse(expires_at ?? '') - Date.now()

/** Follows an authorization URL, and presses a button of the authorization server's page. */
export async function decide(
  agent: UserAgent,
  authorizationUrl: string,
  decision: 'allow' | 'deny' = 'allow',
  until?: (url: URL) => boolean,
): Promise<Opened> {
  const page = await agent.open(authorizationUrl)
  expect(page.status, page.text).toBe(200)
  return agent.open(page.url, { form: { decision }, from: page.url, ...(until && { until }) })
}

/** The URL of the callback, which the browser did not open. */
export const callbackOf = async (authorizationUrl: string, decision: 'allow' | 'deny' = 'allow') =>
  (await decide(new UserAgent(), authorizationUrl, decision, isCallback)).url

const isCallback = ({ pathname }: URL) => pathname.startsWith('/oauth/callback')

interface Options {
  readonly authorization?: Parameters<typeof openAuthorizationServer>[0]
  readonly server?: Parameters<typeof openProtected>[1]
  readonly service?: Parameters<typeof openTestService>[0]
  /** Further fields of the registered server. */
  readonly more?: object
}

/** An authorization server and a tool server that needs a login there; closed after the test. */
export async function openRemote({
  authorization: own = {},
  server: guarded = {},
}: Omit<Options, 'service' | 'more'> = {}) {
  const authorization: AuthorizationServer = await openAuthorizationServer(own)
  const server = await openProtected(authorization, guarded)
  onTestFinished(async () => {
    await server.close()
    await authorization.close()
  })
  return { authorization, server }
}

/** The same, and a service where that server is registered as `remote`. */
export async function openLogins({ service: options = {}, more = {}, ...remote }: Options = {}) {
  const { authorization, server } = await openRemote(remote)
  const service = await openTestService(options)
  const user = userOf(service)
  const id = await user.add(server.url, more)
  return { authorization, server, service, user, id }
}
