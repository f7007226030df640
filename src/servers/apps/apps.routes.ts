import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AppError } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/time.ts'
import { abortOnDisconnect } from '../shared/upstreams.routes.ts'
import * as schema from './apps.schema.ts'
import type { Frames } from './frames.ts'

/** MCP Apps: pages of servers, shown beside the results of their tools. */
export function appRoutes(frames: Frames): FastifyPluginAsyncTypebox {
  return async (app) => {
    const open = {
      tags: ['Calls'],
      summary: 'Open the page of a tool',
      description:
        'Reads a `ui://` resource of a server (MCP Apps) and serves it once at `url`, sandboxed, with only the domains that the resource declares. Show it in a frame and speak to it by `postMessage`.',
      body: schema.AppFrameInput,
      response: { 201: schema.AppFrame },
    }
    const errors = ['server_not_running', 'login_needed', 'call_failed', 'call_timeout']
    app.post('/app-frames', { schema: open, config: { errors } }, async (request, reply) => {
      const { server_id, uri } = request.body
      const { expires_at, ...frame } = await frames.open(server_id, uri, { signal: abortOnDisconnect(reply) })
      return reply.code(201).send({ ...frame, expires_at: isoTime(expires_at) })
    })
  }
}

/** The pages themselves. They are public: the address is a secret that works once. */
export function appFramePages(frames: Frames): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = { schema: { hide: true, params: schema.FrameKey }, exposeHeadRoute: false }
    app.get('/app-frames/:id', get, async (request, reply) => {
      const frame = frames.take(request.params.id)
      if (!frame) throw new AppError('not_found', 'This page was opened before, or is older than a minute')
      return reply
        .header('content-security-policy', frame.policy)
        .header('x-frame-options', 'SAMEORIGIN')
        .type('text/html; charset=utf-8')
        .send(frame.html)
    })
  }
}
