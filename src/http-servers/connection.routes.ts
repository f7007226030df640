import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ToolList } from '../kernel/tool-fields.ts'
import { callRoute } from '../upstreams/calls.routes.ts'
import { ServerKey } from '../upstreams/server-fields.ts'
import type { HttpServers } from './http-servers.service.ts'
import { ConnectionReport } from './report.schema.ts'

const tags = ['HTTP servers']
const params = ServerKey

/** Testing and using HTTP servers. */
export function connectionRoutes(servers: HttpServers): FastifyPluginAsyncTypebox {
  return async (app) => {
    const test = {
      tags,
      summary: 'Test the connection',
      description:
        'Tests each step, within 10 s. The status is 200 also when a step failed: the body says which.',
      params,
      response: { 200: ConnectionReport },
    }
    app.post('/http-servers/:id/test', { schema: test }, (request) => servers.test(request.params.id))

    const tools = {
      tags,
      summary: "List the server's tools",
      description: 'As they were when the server was last reached.',
      params,
      response: { 200: ToolList },
    }
    const notSeen = { errors: ['server_not_running'] }
    app.get('/http-servers/:id/tools', { schema: tools, config: notSeen }, (request) =>
      servers.tools(request.params.id),
    )

    await app.register(
      callRoute({
        path: '/http-servers',
        tags,
        description: 'Connects to the server first if there is no connection.',
        errors: ['server_not_running'],
        call: servers.call,
      }),
    )
  }
}
