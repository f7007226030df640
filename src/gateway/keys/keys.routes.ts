import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../../kernel/wire.ts'
import * as schema from './keys.schema.ts'
import type { Keys } from './keys.service.ts'

const tags = ['Gateway']

export function keyRoutes(keys: Keys): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List the gateway keys',
      description: 'Their values are not stored.',
      response: { 200: schema.KeyList },
    }
    app.get('/keys', { schema: list }, async () => wholeList(keys.list()))

    const add = {
      tags,
      summary: 'Create a gateway key for an agent',
      description: 'The key gives access to the gateway and to nothing under `/api`. It is shown only once.',
      body: schema.KeyInput,
      response: { 201: schema.NewKey },
    }
    app.post('/keys', { schema: add }, async (request, reply) => {
      const key = await keys.add(request.body, { request_id: request.id })
      return reply.code(201).header('location', `/api/keys/${key.id}`).send(key)
    })

    const remove = {
      tags,
      summary: 'Delete a gateway key',
      description: 'Agents that use it are refused from now on.',
      params: schema.KeyId,
      response: { 204: Type.Null() },
    }
    app.delete('/keys/:id', { schema: remove }, async (request, reply) => {
      await keys.remove(request.params.id, { request_id: request.id })
      return reply.code(204).send(null)
    })
  }
}
