import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { component, operationsOf } from '../../kernel/rest-parts.ts'
import { closed } from '../../kernel/schema-fields.ts'
import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'

const RedactInput = closed({ text: Type.String({ maxLength: 262_144 }) })
component({ RedactInput }, 'A text that may contain secrets', {
  examples: [{ text: 'curl -H "Authorization: Bearer sk-live-51H8" https://api.example' }],
})

const Redacted = Type.Object({
  text: Type.String({ examples: ['curl -H "Authorization: Bearer ***" https://api.example'] }),
})
component({ RedactedText: Redacted }, 'The text with secrets masked')

const operation = operationsOf('Logs')

/** Shows what becomes of a text in logs, notices and views. */
export function redactRoutes(secrets: KnownSecrets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const route = operation(
      'Redact a text',
      'Masks what every log line is masked for: the stored secrets, and what looks like one. Stores nothing.',
      { body: RedactInput, response: { 200: Redacted } },
    )
    app.post('/redact', route, async (request) => ({ text: redactText(request.body.text, secrets) }))
  }
}
