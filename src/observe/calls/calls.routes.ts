import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { callerOf, operationsOf } from '../../kernel/rest-parts.ts'
import { CallResult } from '../../kernel/tool-fields.ts'
import { abortOnDisconnect, type IsOwner, JSON_TYPE } from '../../servers/shared/upstreams.routes.ts'
import * as schema from './calls.schema.ts'
import type { Calls } from './calls.service.ts'

const operation = operationsOf('Calls')
const MAX_REPLAY_BYTES = 10 * 1_048_576
const REPLAY_ERRORS: ErrorCode[] = [
  'payload_incomplete',
  'server_not_running',
  'outgoing_not_allowed',
  'login_needed',
  'call_failed',
  'call_timeout',
  'server_start_failed',
  'start_timeout',
  'package_not_found',
  'out_of_resources',
]

export function callRoutes(calls: Calls, isOwner: IsOwner): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List calls, with filtering',
      'All calls of agents and of the API, newest first, including those that reached no server. Without the token, error messages are left out and `search` is refused.',
      { querystring: schema.CallQuery, response: { 200: schema.CallList } },
    )
    app.get('/calls', list, (request) => calls.page(request.query, isOwner(request.headers)))

    const get = operation(
      'Get a call with its arguments and its result',
      'The setting CALL_PAYLOADS decides which are kept. Secrets are masked.',
      { params: schema.CallKey, response: { 200: schema.CallDetail } },
    )
    app.get('/calls/:id', get, async (request, reply) =>
      reply.type(JSON_TYPE).send((await calls.detail(request.params.id)) as never),
    )

    const replay = operation(
      'Call the same tool again',
      'Calls the same tool of the same server, with the same arguments or with those in the body, and returns the result as the server sent it. The replay is recorded as a call of its own, which `Location` names.',
      {
        params: schema.CallKey,
        body: schema.ReplayInput,
        response: { 200: CallResult },
        errors: REPLAY_ERRORS,
        passedOn: true,
      },
    )
    app.post('/calls/:id/replay', { ...replay, bodyLimit: MAX_REPLAY_BYTES }, async (request, reply) => {
      const { arguments: args } = request.body ?? {}
      const by = callerOf(request)
      const { result, call_id } = await calls.replay(request.params.id, args, by, abortOnDisconnect(reply))
      if (call_id !== undefined) reply.header('location', `/api/calls/${call_id}`)
      return reply.type(JSON_TYPE).send(result.bytes as never)
    })
  }
}
