import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, NO_CONTENT, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import * as schema from './secrets.schema.ts'
import type { Secrets } from './secrets.service.ts'

const operation = operationsOf('Secrets')

export function secretRoutes(secrets: Secrets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List the named secrets', 'Names only. A value is never shown.', {
      response: { 200: schema.SecretList },
    })
    app.get('/secrets', list, async () => wholeList(await secrets.list()))

    const set = operation(
      'Set a named secret',
      'No STDIO server is restarted: those that run with the old value show `restart_needed`. HTTP servers that refer to it are connected again.',
      {
        params: schema.SecretKey,
        body: schema.SecretInput,
        response: { 200: schema.SecretView },
        errors: ['limit_reached'],
      },
    )
    app.put('/secrets/:name', set, (request) =>
      secrets.set(request.params.name, request.body.value, callerOf(request)),
    )

    const remove = operation(
      'Delete a named secret',
      'Refused while servers refer to it, unless `force` is set.',
      {
        params: schema.KnownKey,
        querystring: schema.DeleteQuery,
        response: NO_CONTENT,
        errors: ['secret_in_use'],
      },
    )
    app.delete('/secrets/:name', remove, async (request, reply) => {
      const { force = false } = request.query
      await secrets.remove(request.params.name, force, callerOf(request))
      return reply.code(204).send(null)
    })
  }
}
