import * as Type from 'typebox'
import { component, Timestamp } from '../../kernel/rest-parts.ts'
import { closed, partial } from '../../kernel/schema-fields.ts'

const Code = Type.String({ minLength: 1, maxLength: 128, examples: ['kO2l0dQ0Xl5rYk3fN0rJrg'] })

/** How long a code lives by default, and at most. */
export const LIFETIME_S = 60
const MOST_S = 600

export const LoginCodeInput = partial({
  lifetime_s: Type.Integer({
    minimum: 1,
    maximum: MOST_S,
    description: `How long the code lives, for a link that a person opens. ${LIFETIME_S} by default`,
  }),
})
component({ LoginCodeInput }, 'How long the code lives', { examples: [{ lifetime_s: MOST_S }] })

export const LoginCode = Type.Object({ code: Code, expires_at: Timestamp })
component({ LoginCode }, 'A code that can be exchanged for the token once')

export const LoginInput = closed({ code: Code })
component({ LoginInput }, 'The code to exchange')

export const Login = Type.Object({ token: Type.String({ examples: ['fedcba9876543210'.repeat(4)] }) })
component({ Login }, 'The token')
