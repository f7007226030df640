import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, operationsOf } from '../../kernel/rest-parts.ts'
import * as schema from './visibility.schema.ts'
import type { Visibility } from './visibility.service.ts'

const operation = operationsOf('Gateway')
const params = schema.AgentKey

export function visibilityRoutes(visibility: Visibility): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = operation(
      'Get the tools that an agent sees, and their token cost',
      'By server, with what they take in the context of the agent.',
      { params, response: { 200: schema.AgentToolsView } },
    )
    app.get('/agents/:agent_type/tools', get, async (request) => visibility.get(request.params.agent_type))

    const put = operation(
      'Choose which tools an agent sees',
      'Omitted fields keep their value. Takes effect at once for all keys of this agent. Connected agents are notified.',
      { params, body: schema.AgentToolsInput, response: { 200: schema.AgentToolsView } },
    )
    app.put('/agents/:agent_type/tools', put, async (request) =>
      visibility.change(request.params.agent_type, request.body, callerOf(request)),
    )
  }
}
