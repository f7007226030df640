import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../../kernel/wire.ts'
import * as schema from './secrets.schema.ts'
import type { Secrets } from './secrets.service.ts'

const tags = ['Secrets']

export function secretRoutes(secrets: Secrets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List the named secrets',
      description: 'Names only. A value is never shown.',
      response: { 200: schema.SecretList },
    }
    app.get('/secrets', { schema: list }, async () => wholeList(await secrets.list()))

    const set = {
      tags,
      summary: 'Set a named secret',
      description:
        'No STDIO server is restarted: those that run with the old value show `restart_needed`. HTTP servers that refer to it are connected again.',
      params: schema.SecretKey,
      body: schema.SecretInput,
      response: { 200: schema.SecretView },
    }
    app.put('/secrets/:name', { schema: set, config: { errors: ['limit_reached'] } }, (request) =>
      secrets.set(request.params.name, request.body.value, { request_id: request.id }),
    )

    const remove = {
      tags,
      summary: 'Delete a named secret',
      description: 'Refused while servers refer to it, unless `force` is set.',
      params: schema.KnownKey,
      querystring: schema.DeleteQuery,
      response: { 204: Type.Null() },
    }
    app.delete(
      '/secrets/:name',
      { schema: remove, config: { errors: ['secret_in_use'] } },
      async (request, reply) => {
        const { force = false } = request.query
        await secrets.remove(request.params.name, force, { request_id: request.id })
        return reply.code(204).send(null)
      },
    )
  }
}
