import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type KnownSecrets, redactText } from '../../kernel/secrets/known-secrets.ts'

import { Redacted, RedactInput } from './redact.schema.ts'

/** Shows what becomes of a text in logs, notices and views. */
export function redactRoutes(secrets: KnownSecrets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const schema = {
      tags: ['Logs'],
      summary: 'Redact a text',
      description:
        'Masks what every log line is masked for: the stored secrets, and what looks like one. Stores nothing.',
      body: RedactInput,
      response: { 200: Redacted },
    }
    app.post('/redact', { schema }, async (request) => ({ text: redactText(request.body.text, secrets) }))
  }
}
