import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AsyncQuery, operationsOf, StartedJob } from '../../kernel/rest-parts.ts'
import { TryInput, TryReport, type TryServers } from './try-servers.ts'

const operation = operationsOf('STDIO servers')

export function tryRoutes(tryServers: TryServers): FastifyPluginAsyncTypebox {
  return async (app) => {
    const route = operation(
      'Try servers',
      'Starts each STDIO server once, a few at a time, and puts those to sleep again that were asleep. Tests the connection to each HTTP server. Servers that a user has stopped or disabled are not started. The status is 200 even when some of them failed; their items have the reason. `last_try` of each server keeps the result.',
      {
        querystring: AsyncQuery,
        body: Type.Union([TryInput, Type.Null()]),
        response: { 200: TryReport, 202: StartedJob },
        errors: ['job_cancelled'],
      },
    )
    app.post('/servers/try', route, async (request, reply) => {
      const { job, settled } = tryServers(request.body ?? {})
      if (!request.query.async) return reply.code(200).send(await settled)
      return reply.code(202).header('location', `/api/jobs/${job}`).send({ job })
    })
  }
}
