import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, NO_CONTENT, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import type { Processes } from './orphans.service.ts'
import * as schema from './orphans.service.ts'

const operation = operationsOf('Processes')

export function processRoutes(processes: Processes): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List leaked processes',
      'MCP servers on this computer whose agent has ended, including servers not started by Toolroom. On Windows only those whose parent process has ended.',
      { response: { 200: schema.OrphanList } },
    )
    app.get('/processes/orphans', list, async () => wholeList(await processes.orphans()))

    const end = operation(
      'End a leaked process',
      'Ends the process and all its descendants: SIGTERM first, SIGKILL after 2 s. On Windows, which has no SIGTERM, at once.',
      { params: schema.OrphanKey, response: NO_CONTENT, errors: ['not_permitted'] },
    )
    app.delete('/processes/orphans/:id', end, async (request, reply) => {
      await processes.endOrphan(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    })
  }
}
