import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../kernel/wire.ts'
import { IfMatch, revisionOf, ServerKey } from '../upstreams/server-fields.ts'
import * as schema from './http-servers.schema.ts'
import type { HttpServers } from './http-servers.service.ts'

const tags = ['HTTP servers']
const params = ServerKey

export function httpServerRoutes(servers: HttpServers): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = { tags, summary: 'List HTTP servers', response: { 200: schema.HttpServerList } }
    app.get('/http-servers', { schema: list }, async () =>
      wholeList((await servers.list()).map(servers.view)),
    )

    const add = {
      tags,
      summary: 'Add an HTTP server',
      body: schema.HttpServerInput,
      response: { 201: schema.HttpServerView },
    }
    app.post('/http-servers', { schema: add }, async (request, reply) => {
      const server = await servers.add(request.body, { request_id: request.id })
      return reply.code(201).header('location', `/api/http-servers/${server.id}`).send(servers.view(server))
    })

    const get = { tags, summary: 'Get one HTTP server', params, response: { 200: schema.HttpServerView } }
    app.get('/http-servers/:id', { schema: get }, async (request, reply) => {
      const server = await servers.get(request.params.id)
      return reply.header('etag', `"${server.revision}"`).send(servers.view(server))
    })

    const put = {
      tags,
      summary: 'Update an HTTP server',
      description:
        'Fields that are not named stay. A value that is `***` keeps what is stored, for the same origin.',
      params,
      headers: IfMatch,
      body: schema.HttpServerUpdate,
      response: { 200: schema.HttpServerView },
    }
    app.put('/http-servers/:id', { schema: put }, async (request, reply) => {
      const revision = revisionOf(request.headers['if-match'])
      const server = await servers.change(request.params.id, revision, request.body, {
        request_id: request.id,
      })
      return reply.header('etag', `"${server.revision}"`).send(servers.view(server))
    })

    const remove = { tags, summary: 'Delete an HTTP server', params, response: { 204: Type.Null() } }
    app.delete('/http-servers/:id', { schema: remove }, async (request, reply) => {
      await servers.remove(request.params.id, { request_id: request.id })
      return reply.code(204).send(null)
    })
  }
}
