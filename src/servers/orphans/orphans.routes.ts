import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../../kernel/wire.ts'
import type { Processes } from './orphans.service.ts'
import * as schema from './orphans.service.ts'

const tags = ['Processes']

export function processRoutes(processes: Processes): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List leaked processes',
      description:
        'MCP servers on this computer whose agent has ended, including servers not started by Toolroom. On Windows only those whose parent process has ended.',
      response: { 200: schema.OrphanList },
    }
    app.get('/processes/orphans', { schema: list }, async () => wholeList(await processes.orphans()))

    const end = {
      tags,
      summary: 'End a leaked process',
      description:
        'Ends the process and all its descendants: SIGTERM first, SIGKILL after 2 s. On Windows, which has no SIGTERM, at once.',
      params: schema.OrphanKey,
      response: { 204: Type.Null() },
    }
    const config = { errors: ['not_permitted'] }
    app.delete('/processes/orphans/:id', { schema: end, config }, async (request, reply) => {
      await processes.endOrphan(request.params.id, { request_id: request.id })
      return reply.code(204).send(null)
    })
  }
}
