import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, NO_CONTENT, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import * as schema from './saved-calls.schema.ts'
import type { SavedCalls } from './saved-calls.service.ts'

const operation = operationsOf('Calls')
const params = schema.SavedCallKey

export function savedCallRoutes(saved: SavedCalls): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List saved calls', 'With their arguments.', {
      response: { 200: schema.SavedCallList },
    })
    app.get('/saved-calls', list, async () => wholeList(saved.list()))

    const get = operation('Get a saved call', 'With its arguments, as they were sent.', {
      params,
      response: { 200: schema.SavedCall },
    })
    app.get('/saved-calls/:id', get, async (request) => saved.get(request.params.id))

    const put = operation(
      'Save a call',
      'Creates the saved call, or replaces it. It is not made: use the route of the tool for that.',
      {
        params,
        body: schema.SavedCallInput,
        response: { 200: schema.SavedCall, 201: schema.SavedCall },
        errors: ['limit_reached'],
      },
    )
    app.put('/saved-calls/:id', put, async (request, reply) => {
      const { id } = request.params
      const { saved: view, isNew } = await saved.put(id, request.body, callerOf(request))
      if (!isNew) return view
      return reply.code(201).header('location', `/api/saved-calls/${id}`).send(view)
    })

    const remove = operation('Delete a saved call', 'Calls that were made with it stay in the history.', {
      params,
      response: NO_CONTENT,
    })
    app.delete('/saved-calls/:id', remove, async (request, reply) => {
      await saved.remove(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    })
  }
}
