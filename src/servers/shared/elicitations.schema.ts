import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, mapOf } from '../../kernel/wire.ts'

const Text = Type.String({ maxLength: 65_536 })

export const ElicitationKey = Type.Object({
  id: Type.String({
    description: 'From the event `elicitation`',
    examples: ['eli_0123456789abcdef01234567'],
  }),
})

export const ElicitationAnswer = Type.Object(
  {
    action: Type.Enum(['accept', 'decline', 'cancel'], {
      description: '`decline`: the user said no. `cancel`: the user closed the form without a choice',
    }),
    content: Type.Optional(
      mapOf(
        '^[^\\u0000-\\u001f\\u007f]{1,256}$',
        Type.Union([Text, Type.Number(), Type.Boolean(), Type.Array(Text, { maxItems: 1000 })]),
        1000,
      ),
    ),
  },
  { additionalProperties: false, examples: [{ action: 'accept', content: { name: 'Ada' } }] },
)
export type ElicitationAnswer = Static<typeof ElicitationAnswer>
component({ ElicitationAnswer }, 'The answer to a question of a tool server')
