import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { invalidField } from '../../kernel/errors.ts'
import { ElicitationAnswer, ElicitationKey } from './elicitations.schema.ts'
import type { Elicitations } from './elicitations.ts'

export function elicitationRoutes(elicitations: Elicitations): FastifyPluginAsyncTypebox {
  return async (app) => {
    const answer = {
      tags: ['Calls'],
      summary: 'Answer a question of a tool server',
      description: 'For the event `elicitation` of a streamed call. Each question can be answered once.',
      params: ElicitationKey,
      body: ElicitationAnswer,
      response: { 204: Type.Null() },
    }
    app.post('/elicitations/:id/answer', { schema: answer }, async (request, reply) => {
      const { action, content } = request.body
      if (content !== undefined && action !== 'accept')
        throw invalidField('/content', 'is sent only with the action accept')
      elicitations.answer(request.params.id, request.body)
      return reply.code(204).send(null)
    })
  }
}
