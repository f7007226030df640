import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operationsOf } from '../../kernel/rest-parts.ts'
import { Health, type HealthCheck } from './health.service.ts'

const operation = operationsOf('Health')

/** `seesNames`: whether a request with these headers may see the names of servers and agents. */
export function healthRoutes(
  health: HealthCheck,
  seesNames: (headers: Readonly<Record<string, unknown>>) => boolean,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const route = operation(
      'Health check',
      'Answers 503 with the reason when the configuration database is broken. `warnings` has the text of each open notice; with PROTECT_READS and without the token, only their number by kind.',
      { response: { 200: Health, 503: Health } },
    )
    app.get('/health', route, async (request, reply) => {
      const report = await health(seesNames(request.headers))
      return reply.code(report.status === 'broken' ? 503 : 200).send(report)
    })
  }
}
