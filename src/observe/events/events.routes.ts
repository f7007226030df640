import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operationsOf } from '../../kernel/rest-parts.ts'
import { EventList, EventQuery } from './events.schema.ts'
import type { Events } from './events.service.ts'

const operation = operationsOf('Events')

export function eventRoutes(events: Events): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List what happened',
      'Changes of the configuration, states of servers and notices, newest first. `total` is exact up to 10,000 and null beyond.',
      { querystring: EventQuery, response: { 200: EventList } },
    )
    app.get('/events', list, async (request) => events.page(request.query))
  }
}
