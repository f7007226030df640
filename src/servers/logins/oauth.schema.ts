import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull } from '../../kernel/wire.ts'
import { lastErrorSchema, ServerId, ServerName } from '../shared/server-fields.ts'
import { AuthView } from './auth-view.schema.ts'
import { ScopeList } from './oauth-input.schema.ts'

export const ServerLoginInput = Type.Object(
  {
    scopes: Type.Optional({
      ...ScopeList,
      description: 'Ask for these scopes instead of those that the server names',
    } as typeof ScopeList),
    fresh: Type.Optional(Type.Boolean({ description: 'Forget the registration at the issuer first' })),
  },
  { additionalProperties: false },
)
export type ServerLoginInput = Static<typeof ServerLoginInput>
component({ ServerLoginInput }, 'How to log in')

export const ServerLoginCallback = Type.Object(
  {
    url: Type.String({
      pattern: '^[hH][tT][tT][pP][sS]?://\\S{1,8000}$',
      expected: 'the http or https address that the browser was sent to',
      examples: ['http://127.0.0.1:8665/oauth/callback?code=abc&state=xyz'],
    }),
  },
  { additionalProperties: false },
)
component({ ServerLoginCallback }, 'The address that the browser was sent to at the end of the login')

export const ServerLoginOutcome = Type.Object({
  server_id: ServerId,
  server_name: ServerName,
  ok: Type.Boolean({ description: 'Whether there is a login now' }),
  tools: orNull(Type.Integer({ description: 'The number of tools; null when the server could not be used' })),
  problem: lastErrorSchema('access_denied'),
})
component({ ServerLoginOutcome }, 'How the login ended')

export const ServerLogin = Type.Object({
  auth: AuthView,
  account: orNull(
    Type.String({ description: 'The account, as far as the issuer names it', examples: ['ada@example.com'] }),
  ),
})
component({ ServerLogin }, 'The state of the login')

export const LogoutQuery = Type.Object(
  { client: Type.Optional(Type.Boolean({ description: 'Forget the registration at the issuer too' })) },
  { additionalProperties: false },
)
