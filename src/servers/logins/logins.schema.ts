import * as Type from 'typebox'
import { component, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import { text, texts } from '../../kernel/schema-fields.ts'

const Scopes = Type.Array(Type.String(), { examples: [['read', 'write']] })

/** Why a login was refused, or why a token could not be renewed. */
const LoginError = Type.Object({
  code: Type.String({ examples: ['access_denied'] }),
  message: text('One sentence', { examples: ['auth.example.com: the login was denied'] }),
  hint: orNull(Type.String()),
})

/** How Toolroom authenticates at an HTTP server. Never a token. */
export const AuthView = Type.Object({
  state: Type.Enum(['none', 'needs_login', 'logged_in', 'expired', 'refused'], {
    description:
      '`none`: no login is needed, or a configured Authorization header is sent. `needs_login`: there is no token, or a token with more scopes is needed. `expired`: there was a login, and it has ended. `refused`: see `error`',
  }),
  method: Type.Enum(['none', 'header', 'login', 'client_credentials']),
  scopes: texts('The scopes of the current token'),
  wanted_scopes: texts('The scopes that the next login asks for'),
  expires_at: orNull(Timestamp),
  issuer: orNull(Type.String({ examples: ['https://auth.example.com'] })),
  client: orNull(
    Type.Enum(['given', 'document', 'registered'], {
      description:
        'Where the OAuth client comes from: the server definition, a client metadata document, or a registration by Toolroom',
    }),
  ),
  pending_until: orNull(Timestamp),
  confirm_until: orNull(
    Type.Unsafe<string>({
      ...Timestamp,
      description:
        'A login that began at a page for agents has ended, and waits until then for a confirmation',
    }),
  ),
  error: Type.Unsafe<Type.Static<typeof LoginError> | null>({ ...LoginError, type: ['object', 'null'] }),
})
export type AuthView = Type.Static<typeof AuthView>
component({ Auth: AuthView }, 'How Toolroom authenticates at the server')

/** A login that was begun. */
export const LoginStart = Type.Object({
  authorization_url: text(
    'Where the browser has to go. It contains the state of the login, so give it to a browser only',
  ),
  start_url: text("Toolroom's own page, which leads there"),
  redirect_uri: Type.String({ examples: ['http://127.0.0.1:8665/oauth/callback'] }),
  issuer: Type.String({ examples: ['https://auth.example.com'] }),
  issuer_used_by: texts(
    'Ids of other servers with a login at this issuer. Each has a registration of its own. If that is unexpected, one of them may lead to the issuer of the other',
  ),
  scopes: Scopes,
  expires_at: Timestamp,
})
export type LoginStart = Type.Static<typeof LoginStart>
component({ LoginStart }, 'A login that was begun')
