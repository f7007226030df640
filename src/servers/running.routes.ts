import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../kernel/errors.ts'
import { ToolList } from '../kernel/tool-fields.ts'
import { callRoute } from '../upstreams/calls.routes.ts'
import { ServerKey } from '../upstreams/server-fields.ts'
import { StartQuery } from './run-settings.ts'
import { ServerView } from './servers.schema.ts'
import type { Servers } from './servers.service.ts'

const tags = ['STDIO servers']
const params = ServerKey
const DEFAULT_WAIT_S = 30

const startErrors: ErrorCode[] = [
  'server_not_running',
  'server_start_failed',
  'package_not_found',
  'out_of_resources',
  'start_timeout',
]

/** Starting, stopping and using servers. */
export function runningRoutes(servers: Servers): FastifyPluginAsyncTypebox {
  return async (app) => {
    for (const how of ['start', 'restart'] as const) {
      const start = {
        tags,
        summary: how === 'start' ? 'Start a server' : 'Restart a server',
        description:
          '200 when it runs: handshake done and tools listed. 202 when it still starts after `wait_s`. Starting one that runs does nothing.',
        params,
        querystring: StartQuery,
        response: { 200: ServerView, 202: ServerView },
      }
      app.post(
        `/servers/:id/${how}`,
        { schema: start, config: { errors: startErrors } },
        async (request, reply) => {
          const { wait_s = DEFAULT_WAIT_S } = request.query
          const by = { request_id: request.id }
          const { server, running } = await servers[how](request.params.id, wait_s, by)
          return reply.code(running ? 200 : 202).send(servers.view(server))
        },
      )
    }

    const stop = {
      tags,
      summary: 'Stop a server',
      description:
        'Answers when nothing of it is left: its input is closed, then SIGTERM, then SIGKILL to it and everything it started.',
      params,
      response: { 200: ServerView },
    }
    app.post('/servers/:id/stop', { schema: stop }, async (request) =>
      servers.view(await servers.stop(request.params.id, { request_id: request.id })),
    )

    const tools = {
      tags,
      summary: "List the server's tools",
      description: 'Of a server that does not run: as they were when it last did.',
      params,
      response: { 200: ToolList },
    }
    app.get(
      '/servers/:id/tools',
      { schema: tools, config: { errors: ['server_not_running', 'package_not_found'] } },
      (request) => servers.tools(request.params.id),
    )

    await app.register(
      callRoute({
        path: '/servers',
        tags,
        description: 'A server that sleeps is woken.',
        errors: startErrors,
        call: servers.call,
      }),
    )
  }
}
