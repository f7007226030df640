import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { ErrorCode } from '../kernel/errors.ts'
import * as schema from '../kernel/tool-fields.ts'
import type { CallResult } from '../protocol/call.ts'
import type { AskedCall } from './calls.ts'

/** A call that takes as long as the server allows, unless its caller says otherwise. */
export type CallRequest = Omit<AskedCall, 'timeoutMs'> & { readonly timeout_s?: number }

interface Options {
  readonly path: '/servers' | '/http-servers'
  readonly tags: string[]
  readonly description: string
  readonly errors: readonly ErrorCode[]
  readonly call: (key: string, asked: CallRequest) => Promise<CallResult>
}

const MAX_CALL_BYTES = 10 * 1_048_576

/** `POST …/tools/{tool}/call`, for both kinds of server. Arguments are handed on, results are sent as they came. */
export function callRoute({ path, tags, description, errors, call }: Options): FastifyPluginAsyncTypebox {
  return async (app) => {
    const operation = {
      tags,
      summary: 'Call a tool',
      description,
      params: schema.ToolKey,
      body: schema.CallInput,
      response: { 200: schema.CallResult },
    }
    const config = { errors: [...errors, 'call_failed', 'call_timeout'], passedOn: true }
    app.post(
      `${path}/:id/tools/:tool/call`,
      { schema: operation, bodyLimit: MAX_CALL_BYTES, config },
      async (request, reply) => {
        const { arguments: args = {}, timeout_s } = request.body
        const { id, tool } = request.params
        const { json } = await call(id, {
          tool,
          args,
          signal: untilGone(reply),
          by: { request_id: request.id },
          ...(timeout_s !== undefined && { timeout_s }),
        })
        return reply.type('application/json; charset=utf-8').send(json as never) // bytes are sent as they are
      },
    )
  }
}

/** Whoever goes away before the answer does not want it any more. */
function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort()
  })
  return gone.signal
}
