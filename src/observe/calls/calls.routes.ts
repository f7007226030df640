import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { CallResult } from '../../kernel/tool-fields.ts'
import { abortOnDisconnect, type IsOwner } from '../../servers/shared/upstreams.routes.ts'
import * as schema from './calls.schema.ts'
import type { Calls } from './calls.service.ts'

const tags = ['Calls']
/** With this type, text and bytes are sent as they are. */
const JSON_TYPE = 'application/json; charset=utf-8'
const MAX_REPLAY_BYTES = 10 * 1_048_576

export function callRoutes(calls: Calls, isOwner: IsOwner): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List calls, with filtering',
      description:
        'All calls of agents and of the API, newest first, including those that reached no server. Without the token, error messages are left out and `search` is refused.',
      querystring: schema.CallQuery,
      response: { 200: schema.CallList },
    }
    app.get('/calls', { schema: list }, (request) => calls.page(request.query, isOwner(request.headers)))

    const get = {
      tags,
      summary: 'Get a call with its arguments and its result',
      description: 'The setting CALL_PAYLOADS decides which are kept. Secrets are masked.',
      params: schema.CallKey,
      response: { 200: schema.CallDetail },
    }
    app.get('/calls/:id', { schema: get }, async (request, reply) =>
      reply.type(JSON_TYPE).send((await calls.detail(request.params.id)) as never),
    )

    const replay = {
      tags,
      summary: 'Call the same tool again',
      description:
        'Calls the same tool of the same server, with the same arguments or with those in the body, and returns the result as the server sent it. The replay is recorded as a call of its own, which `Location` names.',
      params: schema.CallKey,
      body: schema.ReplayInput,
      response: { 200: CallResult },
    }
    const errors = [
      'payload_incomplete',
      'server_not_running',
      'login_needed',
      'call_failed',
      'call_timeout',
      ...START_ERRORS,
    ]
    app.post(
      '/calls/:id/replay',
      { schema: replay, bodyLimit: MAX_REPLAY_BYTES, config: { errors, passedOn: true } },
      async (request, reply) => {
        const { arguments: args } = request.body ?? {}
        const by = { request_id: request.id }
        const { result, call_id } = await calls.replay(request.params.id, args, by, abortOnDisconnect(reply))
        if (call_id !== undefined) reply.header('location', `/api/calls/${call_id}`)
        return reply.type(JSON_TYPE).send(result.bytes as never)
      },
    )
  }
}

/** The call starts its server. */
const START_ERRORS = [
  'server_start_failed',
  'start_timeout',
  'package_not_found',
  'out_of_resources',
] as const
