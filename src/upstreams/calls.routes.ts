import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { ErrorCode } from '../kernel/errors.ts'
import * as schema from '../kernel/tool-fields.ts'
import type { CallResult } from '../protocol/call.ts'
import type { ToolCall } from './upstream.ts'

interface Options {
  readonly path: '/servers' | '/http-servers'
  readonly tags: string[]
  readonly description: string
  readonly errors: readonly ErrorCode[]
  readonly call: (key: string, call: ToolCall) => Promise<CallResult>
}

const MAX_CALL_BYTES = 10 * 1_048_576

/** `POST …/tools/{tool}/call` for both kinds of server. The result is sent as the bytes that the server sent. */
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
        const options = { signal: abortOnDisconnect(reply) }
        const { json } = await call(id, { tool, args, by: { request_id: request.id }, options, timeout_s })
        return reply.type('application/json; charset=utf-8').send(json as never) // a buffer bypasses serialization
      },
    )
  }
}

/** Aborts when the caller disconnects before the response. */
function abortOnDisconnect({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  raw.once('close', () => {
    if (!raw.writableEnded) disconnected.abort()
  })
  return disconnected.signal
}
