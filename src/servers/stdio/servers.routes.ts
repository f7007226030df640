import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { callerOf, operationsOf } from '../../kernel/rest-parts.ts'
import type { Elicitations } from '../shared/elicitations.ts'
import { ServerKey } from '../shared/server-fields.ts'
import { type IsOwner, upstreamRoutes } from '../shared/upstreams.routes.ts'
import { serverActionRoutes } from './actions/actions.routes.ts'
import { StartQuery } from './run-settings.schema.ts'
import { ServerInput, ServerPatch, ServerView } from './servers.schema.ts'
import type { Servers } from './servers.service.ts'

const group = 'STDIO servers'
const operation = operationsOf(group)
const params = ServerKey
const DEFAULT_WAIT_S = 30
const errors: ErrorCode[] = [
  'server_not_running',
  'outgoing_not_allowed',
  'server_start_failed',
  'out_of_resources',
  'start_timeout',
]

export function serverRoutes(
  servers: Servers,
  isOwner: IsOwner,
  elicitations: Elicitations,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(
      upstreamRoutes({
        path: '/servers',
        group,
        one: 'a STDIO server',
        input: ServerInput,
        update: ServerPatch,
        updateMethod: 'PATCH',
        view: ServerView,
        descriptions: {
          add: 'Registers the server without starting it.',
          update:
            'Omitted fields keep their value. The value `***` keeps the stored secret. A running server is restarted only when its command, args, env or cwd has changed.',
          remove: 'A running server is stopped first.',
          tools: 'For a server that is not running: the tools of its last run.',
          diagnose:
            'Checks what a start needs, and starts a server that is not running once, on trial. It is ended at once.',
          call: 'Wakes a sleeping server.',
        },
        callErrors: [...errors, 'server_stopped'],
        maskedFields: ['env', 'args', 'command'],
        isOwner,
        elicitations,
        servers,
      }),
    )

    await app.register(serverActionRoutes(servers))

    for (const action of ['start', 'restart'] as const) {
      const route = operation(
        action === 'start' ? 'Start a STDIO server' : 'Restart a STDIO server',
        '200 when the handshake is done and the tools are listed. 202 when the server is still starting after `wait_s`. Starting a running server has no effect.',
        { params, querystring: StartQuery, response: { 200: ServerView, 202: ServerView }, errors },
      )
      app.post(`/servers/:id/${action}`, route, async (request, reply) => {
        const { wait_s = DEFAULT_WAIT_S } = request.query
        const { server, running } = await servers[action](request.params.id, wait_s, callerOf(request))
        return reply.code(running ? 200 : 202).send(servers.view(server, true))
      })
    }

    const stop = operation(
      'Stop a STDIO server',
      'Closes its input, then sends SIGTERM, then SIGKILL, to it and all processes it started. Responds when all of them have ended.',
      { params, response: { 200: ServerView } },
    )
    app.post('/servers/:id/stop', stop, async (request) =>
      servers.view(await servers.stop(request.params.id, callerOf(request)), true),
    )
  }
}
