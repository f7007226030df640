import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { callerOf, component, NO_CONTENT, operationsOf, orNull } from '../../kernel/rest-parts.ts'
import { boolean, closed, integer, partial, textOrNull } from '../../kernel/schema-fields.ts'
import { problemSchema, ServerId, ServerKey, ServerName } from '../shared/server-fields.ts'
import { AuthView, LoginStart } from './logins.schema.ts'
import type { Logins } from './logins.ts'
import { ScopeList } from './oauth-settings.ts'

interface Deps {
  readonly logins: Pick<
    Logins,
    'begin' | 'paste' | 'confirm' | 'stateOf' | 'accountOf' | 'unconfirmedAccountOf' | 'logout'
  >
  /** The server with this id or name. Rejects when there is none. */
  readonly find: (key: string) => Promise<{ readonly id: string }>
}

const operation = operationsOf('HTTP servers')
const path = '/http-servers/:id/login'
const REFUSALS: ErrorCode[] = [
  'login_not_possible',
  'outgoing_not_allowed',
  'login_refused',
  'login_unavailable',
]

/** Logins at HTTP servers. */
export function oauthRoutes({ logins, find }: Deps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const begin = operation(
      'Begin a login',
      'Finds the issuer of the server, registers Toolroom there if necessary, and returns the address that the user has to open in a browser. While a login is pending, the response is 200 with the same address.',
      {
        params: ServerKey,
        body: ServerLoginInput,
        response: { 200: LoginStart, 201: LoginStart },
        errors: REFUSALS,
      },
    )
    app.post(path, begin, async (request, reply) => {
      const { isNew, start } = await logins.begin(request.params.id, request.body, callerOf(request))
      return reply.code(isNew ? 201 : 200).send(start)
    })

    const callback = operation(
      'Finish a login by hand',
      'For a browser that cannot reach Toolroom, such as one on another computer: takes the address of the page that it could not open at the end of the login. The status is 200 even when the issuer refused the login; the body says why.',
      {
        params: ServerKey,
        body: ServerLoginCallback,
        response: { 200: ServerLoginOutcome },
        errors: ['login_unknown'],
      },
    )
    app.post(`${path}/callback`, callback, (request) =>
      logins.paste(request.params.id, request.body.url, callerOf(request)),
    )

    const get = operation(
      'Get the state of the login',
      'The state of the login, and the account that is logged in.',
      { params: ServerKey, response: { 200: ServerLogin } },
    )
    app.get(path, get, async (request) => {
      const { id } = await find(request.params.id)
      const unconfirmed_account = logins.unconfirmedAccountOf(id)
      return { auth: logins.stateOf(id), account: logins.accountOf(id), unconfirmed_account }
    })

    const confirm = operation(
      'Confirm the account of a login',
      'A login that began at `start_url`, which agents can open, could be one of any account. Its tokens wait for this answer: they are used from then on, or revoked. A call that waits for the login goes on.',
      {
        params: ServerKey,
        body: ServerLoginConfirmation,
        response: { 200: ServerLoginOutcome },
        errors: ['login_unknown'],
      },
    )
    app.post(`${path}/confirm`, confirm, (request) =>
      logins.confirm(request.params.id, request.body.accept, callerOf(request)),
    )

    const remove = operation(
      'Log out',
      'Cancels a pending login, revokes the tokens at the issuer, for which it has 5 s, and forgets them.',
      { params: ServerKey, querystring: LogoutQuery, response: NO_CONTENT },
    )
    app.delete(path, remove, async (request, reply) => {
      const { client = false } = request.query
      await logins.logout(request.params.id, { client }, callerOf(request))
      return reply.code(204).send(null)
    })
  }
}

const ServerLoginInput = partial({
  scopes: {
    ...ScopeList,
    description: 'Ask for these scopes instead of those that the server names',
  } as typeof ScopeList,
  fresh: boolean('Forget the registration at the issuer first'),
})
component({ ServerLoginInput }, 'How to log in')

const ServerLoginCallback = closed({
  url: Type.String({
    pattern: '^[hH][tT][tT][pP][sS]?://\\S{1,8000}$',
    expected: 'the http or https address that the browser was sent to',
    examples: ['http://127.0.0.1:8665/oauth/callback?code=abc&state=xyz'],
  }),
})
component({ ServerLoginCallback }, 'The address that the browser was sent to at the end of the login')

const ServerLoginConfirmation = closed({
  accept: boolean('True: the account is right, and its tokens are used. False: they are revoked'),
})
component({ ServerLoginConfirmation }, 'Whether the account of a login is right')

const ServerLoginOutcome = Type.Object({
  server_id: ServerId,
  server_name: ServerName,
  ok: boolean('Whether there is a login now'),
  account: textOrNull('The account, as far as the issuer names it', { examples: ['ada@example.com'] }),
  unconfirmed: boolean('Its tokens wait for a confirmation of the account'),
  tools: orNull(integer('The number of tools; null when the server could not be used')),
  problem: problemSchema('access_denied'),
})
component({ ServerLoginOutcome }, 'How the login ended')

const ServerLogin = Type.Object({
  auth: AuthView,
  account: textOrNull('The account, as far as the issuer names it', { examples: ['ada@example.com'] }),
  unconfirmed_account: textOrNull('The same of a login that waits for a confirmation'),
})
component({ ServerLogin }, 'The state of the login')

const LogoutQuery = partial({ client: boolean('Forget the registration at the issuer too') })
