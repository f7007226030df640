import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Health } from './health.schema.ts'
import type { HealthCheck } from './health.service.ts'

export function healthRoutes(health: HealthCheck): FastifyPluginAsyncTypebox {
  return async (app) => {
    const schema = {
      tags: ['Health'],
      summary: 'Health check',
      description: 'Answers 503 with the reason when the configuration database is broken.',
      response: { 200: Health, 503: Health },
    }
    app.get('/health', { schema }, async (_, reply) => {
      const report = await health()
      return reply.code(report.status === 'broken' ? 503 : 200).send(report)
    })
  }
}
