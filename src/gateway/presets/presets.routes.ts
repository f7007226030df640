import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../../kernel/wire.ts'
import { AgentKey } from '../catalogue/visibility.schema.ts'
import * as schema from './presets.schema.ts'
import type { Presets } from './presets.service.ts'

const tags = ['Gateway']
const params = schema.PresetKey

export function presetRoutes(presets: Presets): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List presets',
      description: 'By name.',
      response: { 200: schema.PresetList },
    }
    app.get('/presets', { schema: list }, async () => wholeList(presets.list()))

    const get = {
      tags,
      summary: 'Get a preset',
      description: 'The servers and tools that an agent sees after the preset was applied to it.',
      params,
      response: { 200: schema.PresetView },
    }
    app.get('/presets/:name', { schema: get }, async (request) => presets.get(request.params.name))

    const put = {
      tags,
      summary: 'Save a preset',
      description: 'Replaces the whole preset, or creates it. Agents that it was applied to do not change.',
      params,
      body: schema.PresetInput,
      response: { 200: schema.PresetView },
    }
    app.put('/presets/:name', { schema: put, config: { errors: ['limit_reached'] } }, (request) =>
      presets.put(request.params.name, request.body, { request_id: request.id }),
    )

    const remove = {
      tags,
      summary: 'Delete a preset',
      description: 'Agents that it was applied to do not change.',
      params,
      response: { 204: Type.Null() },
    }
    app.delete('/presets/:name', { schema: remove }, async (request, reply) => {
      await presets.remove(request.params.name, { request_id: request.id })
      return reply.code(204).send(null)
    })

    const apply = {
      tags,
      summary: 'Apply a preset to an agent',
      description:
        'Sets the servers and tools that the agent sees at the gateway to those of the preset. Its tool mode stays. Takes effect at once.',
      params: AgentKey,
      body: schema.ApplyInput,
      response: { 200: schema.ApplyReport },
    }
    app.post('/agents/:agent_type/apply', { schema: apply }, (request) =>
      presets.apply(request.params.agent_type, request.body, { request_id: request.id }),
    )
  }
}
