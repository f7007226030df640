import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../../kernel/wire.ts'
import * as schema from './saved-calls.schema.ts'
import type { SavedCalls } from './saved-calls.service.ts'

const tags = ['Calls']
const params = schema.SavedCallKey

export function savedCallRoutes(saved: SavedCalls): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List saved calls',
      description: 'With their arguments.',
      response: { 200: schema.SavedCallList },
    }
    app.get('/saved-calls', { schema: list }, async () => wholeList(saved.list()))

    const get = {
      tags,
      summary: 'Get a saved call',
      description: 'With its arguments, as they were sent.',
      params,
      response: { 200: schema.SavedCall },
    }
    app.get('/saved-calls/:id', { schema: get }, async (request) => saved.get(request.params.id))

    const put = {
      tags,
      summary: 'Save a call',
      description:
        'Creates the saved call, or replaces it. It is not made: use the route of the tool for that.',
      params,
      body: schema.SavedCallInput,
      response: { 200: schema.SavedCall, 201: schema.SavedCall },
    }
    app.put(
      '/saved-calls/:id',
      { schema: put, config: { errors: ['limit_reached'] } },
      async (request, reply) => {
        const { id } = request.params
        const { saved: view, isNew } = await saved.put(id, request.body, { request_id: request.id })
        if (!isNew) return view
        return reply.code(201).header('location', `/api/saved-calls/${id}`).send(view)
      },
    )

    const remove = {
      tags,
      summary: 'Delete a saved call',
      description: 'Calls that were made with it stay in the history.',
      params,
      response: { 204: Type.Null() },
    }
    app.delete('/saved-calls/:id', { schema: remove }, async (request, reply) => {
      await saved.remove(request.params.id, { request_id: request.id })
      return reply.code(204).send(null)
    })
  }
}
