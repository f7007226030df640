import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as schema from './visibility.schema.ts'
import type { Visibility } from './visibility.service.ts'

const tags = ['Gateway']
const params = schema.AgentKey

export function visibilityRoutes(visibility: Visibility): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = {
      tags,
      summary: 'Which tools an agent sees, and what they cost',
      params,
      response: { 200: schema.AgentToolsView },
    }
    app.get('/agents/:agent_type/tools', { schema: get }, async (request) =>
      visibility.get(request.params.agent_type),
    )

    const put = {
      tags,
      summary: 'Choose which tools an agent sees',
      description:
        'Fields that are not named stay. It counts at once, for all keys of this agent, and agents that listen are told.',
      params,
      body: schema.AgentToolsInput,
      response: { 200: schema.AgentToolsView },
    }
    app.put('/agents/:agent_type/tools', { schema: put }, async (request) =>
      visibility.change(request.params.agent_type, request.body, { request_id: request.id }),
    )
  }
}
