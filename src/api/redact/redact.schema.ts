import * as Type from 'typebox'
import { component } from '../../kernel/wire.ts'

export const RedactInput = Type.Object(
  { text: Type.String({ maxLength: 262_144 }) },
  {
    additionalProperties: false,
    examples: [{ text: 'curl -H "Authorization: Bearer sk-live-51H8" https://api.example' }],
  },
)
component({ RedactInput }, 'A text that may contain secrets')

export const Redacted = Type.Object({
  text: Type.String({ examples: ['curl -H "Authorization: Bearer ***" https://api.example'] }),
})
component({ RedactedText: Redacted }, 'The text with secrets masked')
