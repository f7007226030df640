import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, NO_CONTENT, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import { AgentKey } from '../catalogue/visibility.schema.ts'
import * as schema from './presets.schema.ts'
import type { Presets } from './presets.service.ts'

const operation = operationsOf('Gateway')
const params = schema.PresetKey

export function presetRoutes(presets: Presets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List presets', 'By name.', { response: { 200: schema.PresetList } })
    app.get('/presets', list, async () => wholeList(presets.list()))

    const get = operation(
      'Get a preset',
      'The servers and tools that an agent sees after the preset was applied to it.',
      { params, response: { 200: schema.PresetView } },
    )
    app.get('/presets/:name', get, async (request) => presets.get(request.params.name))

    const put = operation(
      'Save a preset',
      'Replaces the whole preset, or creates it. Agents that it was applied to do not change.',
      { params, body: schema.PresetInput, response: { 200: schema.PresetView }, errors: ['limit_reached'] },
    )
    app.put('/presets/:name', put, (request) =>
      presets.put(request.params.name, request.body, callerOf(request)),
    )

    const remove = operation('Delete a preset', 'Agents that it was applied to do not change.', {
      params,
      response: NO_CONTENT,
    })
    app.delete('/presets/:name', remove, async (request, reply) => {
      await presets.remove(request.params.name, callerOf(request))
      return reply.code(204).send(null)
    })

    const apply = operation(
      'Apply a preset to an agent',
      'Sets the servers and tools that the agent sees at the gateway to those of the preset. Its tool mode stays. Takes effect at once.',
      { params: AgentKey, body: schema.ApplyInput, response: { 200: schema.ApplyReport } },
    )
    app.post('/agents/:agent_type/apply', apply, (request) =>
      presets.apply(request.params.agent_type, request.body, callerOf(request)),
    )
  }
}
