import type { Static } from 'typebox'
import * as Type from 'typebox'
import { NAME_PATTERN } from '../../kernel/secrets/references.ts'
import { component, listOf, Timestamp } from '../../kernel/wire.ts'

const SecretName = Type.String({
  pattern: NAME_PATTERN,
  expected: 'a letter, digit or _, followed by up to 127 letters, digits or . _ -',
  description: `Servers refer to it as \`$\{secret:NAME}\` in args, env, headers and url`,
  examples: ['GITHUB_TOKEN'],
})

export const SecretKey = Type.Object({ name: SecretName })
/** Of an existing secret: any other text leads to a 404. */
export const KnownKey = Type.Object({ name: Type.String({ examples: ['GITHUB_TOKEN'] }) })

export const SecretInput = Type.Object(
  {
    value: Type.String({
      minLength: 1,
      maxLength: 32_768,
      description: 'Encrypted on disk, and never shown again',
      examples: ['ghp_…'],
    }),
  },
  { additionalProperties: false },
)
export type SecretInput = Static<typeof SecretInput>
component({ SecretInput }, 'The value of a secret')

export const SecretView = Type.Object({
  name: SecretName,
  used_by: Type.Array(Type.String(), {
    description: 'The ids of the servers that refer to it',
    examples: [['github']],
  }),
  updated_at: Timestamp,
})
export type SecretView = Static<typeof SecretView>
component({ Secret: SecretView }, 'A named secret, without its value')
export const SecretList = listOf(SecretView)

export const DeleteQuery = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ default: false, description: 'Delete it even if servers refer to it' }),
    ),
  },
  { additionalProperties: false },
)
