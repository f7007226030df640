import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, operationsOf } from '../../kernel/rest-parts.ts'
import type { IsOwner } from '../../servers/shared/upstreams.routes.ts'
import * as schema from './notices.schema.ts'
import type { Notices } from './notices.service.ts'

const operation = operationsOf('Notices')

export function noticeRoutes(notices: Notices, isOwner: IsOwner): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List what needs you',
      'Newest first. A notice is resolved when its cause has been gone for 10 s. `evidence` requires the token.',
      { querystring: schema.NoticeQuery, response: { 200: schema.NoticeList } },
    )
    app.get('/notices', list, async (request) => notices.list(request.query, isOwner(request.headers)))

    const see = operation(
      'Mark a notice as seen',
      'A notice about an event, such as changed tools, is resolved 10 s later.',
      { params: schema.NoticeKey, response: { 200: schema.NoticeView } },
    )
    app.post('/notices/:id/seen', see, async (request) => notices.see(request.params.id))

    const get = operation('Get what is muted', 'Kinds of notices, and servers, whose notices are not open.', {
      response: { 200: schema.Mutes },
    })
    app.get('/notices/mutes', get, async () => mutesView(notices))

    const put = operation(
      'Choose what is muted',
      'Replaces both lists. Notices of muted kinds and servers are recorded, but they are not open: neither in the list, nor in `/api/health`, nor on the live stream.',
      { body: schema.MutesInput, response: { 200: schema.Mutes } },
    )
    app.put('/notices/mutes', put, async (request) => {
      await notices.setMutes(request.body, callerOf(request))
      return mutesView(notices)
    })
  }
}

function mutesView(notices: Notices) {
  const { kinds, servers } = notices.mutes()
  return { kinds: [...kinds], servers: [...servers] }
}
