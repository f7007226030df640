import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { EventList, EventQuery } from './events.schema.ts'
import type { Events } from './events.service.ts'

export function eventRoutes(events: Events): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags: ['Events'],
      summary: 'List what happened',
      description:
        'Changes of the configuration, states of servers and notices, newest first. `total` is exact up to 10,000 and null beyond.',
      querystring: EventQuery,
      response: { 200: EventList },
    }
    app.get('/events', { schema: list }, async (request) => events.page(request.query))
  }
}
