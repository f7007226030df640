import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { ServerKey } from '../shared/server-fields.ts'
import { LoginStart } from './auth-view.schema.ts'
import type { Logins } from './logins.ts'
import * as schema from './oauth.schema.ts'

interface Deps {
  readonly logins: Pick<Logins, 'begin' | 'paste' | 'stateOf' | 'accountOf' | 'logout'>
  /** The server with this id or name. Rejects when there is none. */
  readonly find: (key: string) => Promise<{ readonly id: string }>
}

const tags = ['HTTP servers']
const path = '/http-servers/:id/login'
const REFUSALS = ['login_not_possible', 'login_refused', 'login_unavailable']

/** Logins at HTTP servers. */
export function oauthRoutes({ logins, find }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const begin = {
      tags,
      summary: 'Begin a login',
      description:
        'Finds the issuer of the server, registers Toolroom there if necessary, and returns the address that the user has to open in a browser. While a login is pending, the response is 200 with the same address.',
      params: ServerKey,
      body: schema.ServerLoginInput,
      response: { 200: LoginStart, 201: LoginStart },
    }
    app.post(path, { schema: begin, config: { errors: REFUSALS } }, async (request, reply) => {
      const by = { request_id: request.id }
      const { isNew, start } = await logins.begin(request.params.id, request.body, by)
      return reply.code(isNew ? 201 : 200).send(start)
    })

    const callback = {
      tags,
      summary: 'Finish a login by hand',
      description:
        'For a browser that cannot reach Toolroom, such as one on another computer: takes the address of the page that it could not open at the end of the login. The status is 200 even when the issuer refused the login; the body says why.',
      params: ServerKey,
      body: schema.ServerLoginCallback,
      response: { 200: schema.ServerLoginOutcome },
    }
    const errors = ['login_unknown']
    app.post(`${path}/callback`, { schema: callback, config: { errors } }, (request) =>
      logins.paste(request.params.id, request.body.url, { request_id: request.id }),
    )

    const get = {
      tags,
      summary: 'Get the state of the login',
      description: 'The state of the login, and the account that is logged in.',
      params: ServerKey,
      response: { 200: schema.ServerLogin },
    }
    app.get(path, { schema: get }, async (request) => {
      const { id } = await find(request.params.id)
      return { auth: logins.stateOf(id), account: logins.accountOf(id) }
    })

    const remove = {
      tags,
      summary: 'Log out',
      description:
        'Cancels a pending login, revokes the tokens at the issuer, for which it has 5 s, and forgets them.',
      params: ServerKey,
      querystring: schema.LogoutQuery,
      response: { 204: Type.Null() },
    }
    app.delete(path, { schema: remove }, async (request, reply) => {
      const { client = false } = request.query
      await logins.logout(request.params.id, { client }, { request_id: request.id })
      return reply.code(204).send(null)
    })
  }
}
