import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, NO_CONTENT, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import * as schema from './keys.schema.ts'
import type { Keys } from './keys.service.ts'

const operation = operationsOf('Gateway')

export function keyRoutes(keys: Keys): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List the gateway keys', 'Their values are not stored.', {
      response: { 200: schema.KeyList },
    })
    app.get('/keys', list, async () => wholeList(keys.list()))

    const add = operation(
      'Create a gateway key for an agent',
      'The key gives access to the gateway and to nothing under `/api`. It is shown only once.',
      { body: schema.KeyInput, response: { 201: schema.NewKey } },
    )
    app.post('/keys', add, async (request, reply) => {
      const key = await keys.add(request.body, callerOf(request))
      return reply.code(201).header('location', `/api/keys/${key.id}`).send(key)
    })

    const remove = operation('Delete a gateway key', 'Agents that use it are refused from now on.', {
      params: schema.KeyId,
      response: NO_CONTENT,
    })
    app.delete('/keys/:id', remove, async (request, reply) => {
      await keys.remove(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    })
  }
}
