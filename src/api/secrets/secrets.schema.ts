import * as Type from 'typebox'
import { component, listOf, Timestamp } from '../../kernel/rest-parts.ts'
import { closed, flag, partial, text, texts } from '../../kernel/schema-fields.ts'
import { NAME_PATTERN } from '../../kernel/secrets/references.ts'

const SecretName = text(`Servers refer to it as \`$\{secret:NAME}\` in args, env, headers and url`, {
  pattern: NAME_PATTERN,
  expected: 'a letter, digit or _, followed by up to 127 letters, digits or . _ -',
  examples: ['GITHUB_TOKEN'],
})

export const SecretKey = Type.Object({ name: SecretName })
/** Of an existing secret: any other text leads to a 404. */
export const KnownKey = Type.Object({ name: Type.String({ examples: ['GITHUB_TOKEN'] }) })

export const SecretInput = closed({
  value: text('Encrypted on disk, and never shown again', {
    minLength: 1,
    maxLength: 32_768,
    examples: ['ghp_…'],
  }),
})
export type SecretInput = Type.Static<typeof SecretInput>
component({ SecretInput }, 'The value of a secret')

export const SecretView = Type.Object({
  name: SecretName,
  used_by: texts('The ids of the servers that refer to it', { examples: [['github']] }),
  updated_at: Timestamp,
})
export type SecretView = Type.Static<typeof SecretView>
component({ Secret: SecretView }, 'A named secret, without its value')
export const SecretList = listOf(SecretView)

export const DeleteQuery = partial({ force: flag('Delete it even if servers refer to it') })
