import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operationsOf } from '../../kernel/rest-parts.ts'
import type { Elicitations } from '../shared/elicitations.ts'
import { ServerKey } from '../shared/server-fields.ts'
import { type IsOwner, upstreamRoutes } from '../shared/upstreams.routes.ts'
import { ConnectionReport, HttpServerInput, HttpServerUpdate, HttpServerView } from './http-servers.schema.ts'
import type { HttpServers } from './http-servers.service.ts'

const group = 'HTTP servers'

export function httpServerRoutes(
  servers: HttpServers,
  isOwner: IsOwner,
  elicitations: Elicitations,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(
      upstreamRoutes({
        path: '/http-servers',
        group,
        one: 'an HTTP server',
        input: HttpServerInput,
        update: HttpServerUpdate,
        updateMethod: 'PUT',
        view: HttpServerView,
        descriptions: {
          add: 'Registers the server. The next regular check connects to it.',
          update:
            'Omitted fields keep their value. The value `***` keeps the stored secret, if the origin stays the same.',
          remove: 'Closes the connection to the server.',
          tools: 'The tools of the last connection.',
          diagnose: 'Tests the connection, with each step as a check.',
          call: 'Connects to the server first if there is no connection.',
        },
        callErrors: ['server_not_running', 'outgoing_not_allowed', 'login_needed'],
        maskedFields: ['headers', 'url'],
        isOwner,
        elicitations,
        servers,
      }),
    )

    const test = operationsOf(group)(
      'Test the connection',
      'Tests each step, within 10 s. The status is 200 even when a step failed; the body names it.',
      { params: ServerKey, response: { 200: ConnectionReport } },
    )
    app.post('/http-servers/:id/test', test, (request) => servers.test(request.params.id))
  }
}
