import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as schema from './visibility.schema.ts'
import type { Visibility } from './visibility.service.ts'

const tags = ['Gateway']
const params = schema.AgentKey

export function visibilityRoutes(visibility: Visibility): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = {
      tags,
      summary: 'Get the tools that an agent sees, and their token cost',
      description: 'By server, with what they take in the context of the agent.',
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
        'Omitted fields keep their value. Takes effect at once for all keys of this agent. Connected agents are notified.',
      params,
      body: schema.AgentToolsInput,
      response: { 200: schema.AgentToolsView },
    }
    app.put('/agents/:agent_type/tools', { schema: put }, async (request) =>
      visibility.change(request.params.agent_type, request.body, { request_id: request.id }),
    )
  }
}
