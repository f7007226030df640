import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { component, ID_PATTERN, operationsOf, Timestamp } from '../../kernel/rest-parts.ts'
import { closed, text } from '../../kernel/schema-fields.ts'
import { isoTime } from '../../kernel/time.ts'
import { abortOnDisconnect } from '../shared/upstreams.routes.ts'
import type { Iframes } from './iframes.ts'

const operation = operationsOf('Calls')

/** MCP Apps: pages of servers, shown beside the results of their tools. */
export function appRoutes(iframes: Iframes): FastifyPluginAsyncTypebox {
  return async (app) => {
    const open = operation(
      'Open the page of a tool',
      'Reads a `ui://` resource of a server (MCP Apps) and serves it once at `url`, sandboxed, with only the domains that the resource declares. Show it in a frame and speak to it by `postMessage`.',
      {
        body: AppFrameInput,
        response: { 201: AppFrame },
        errors: ['not_found', 'server_not_running', 'login_needed', 'call_failed', 'call_timeout'],
      },
    )
    app.post('/app-frames', open, async (request, reply) => {
      const { server_id, uri } = request.body
      const { expires_at, ...frame } = await iframes.open(server_id, uri, {
        signal: abortOnDisconnect(reply),
      })
      return reply.code(201).send({ ...frame, expires_at: isoTime(expires_at) })
    })
  }
}

/** The pages themselves. They are public: the address is a secret that works once. */
export function appFramePages(iframes: Iframes): FastifyPluginAsyncTypebox {
  return async (app) => {
    const get = { schema: { hide: true, params: FrameKey }, exposeHeadRoute: false }
    app.get('/app-frames/:id', get, async (request, reply) => {
      const frame = iframes.take(request.params.id)
      if (!frame) throw new AppError('not_found', 'This page was opened before, or is older than a minute')
      return reply
        .header('content-security-policy', frame.policy)
        .header('x-frame-options', 'SAMEORIGIN')
        .type('text/html; charset=utf-8')
        .send(frame.html)
    })
  }
}

const AppFrameInput = closed({
  server_id: Type.String({ pattern: ID_PATTERN, expected: 'the id of a server', examples: ['github'] }),
  uri: text('`app_uri` of a tool', {
    pattern: '^ui://[^\\u0000-\\u0020\\u007f]{1,1000}$',
    expected: 'the `ui://` address of a page',
    examples: ['ui://github/issue.html'],
  }),
})
component({ AppFrameInput }, 'The page of a server to show')

const AppFrame = Type.Object({
  url: text('Where the page is served, once and for a minute, without the token', {
    examples: ['/app-frames/4MmVf3vN0rTq2b7Zc1xYwQ'],
  }),
  expires_at: Timestamp,
  policy: text('The Content-Security-Policy it is served with', {
    examples: ["sandbox allow-scripts; default-src 'none'"],
  }),
})
component({ AppFrame }, 'A page of a server, ready to be shown in a frame')

const FrameKey = Type.Object({ id: Type.String({ pattern: '^[\\w-]{1,64}$' }) })
