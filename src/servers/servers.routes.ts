import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { wholeList } from '../kernel/wire.ts'
import { IfMatch, revisionOf, ServerKey } from '../upstreams/server-fields.ts'
import * as importSchema from './import.schema.ts'
import type { Importer } from './import.service.ts'
import * as schema from './servers.schema.ts'
import type { Servers } from './servers.service.ts'

const tags = ['STDIO servers']
const params = ServerKey

export function serverRoutes(servers: Servers, importer: Importer): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = { tags, summary: 'List servers', response: { 200: schema.ServerList } }
    app.get('/servers', { schema: list }, async () => wholeList((await servers.list()).map(servers.view)))

    const add = {
      tags,
      summary: 'Add a server',
      description: 'Registers it and starts nothing.',
      body: schema.ServerInput,
      response: { 201: schema.ServerView },
    }
    app.post('/servers', { schema: add }, async (request, reply) => {
      const server = await servers.add(request.body, { request_id: request.id })
      return reply.code(201).header('location', `/api/servers/${server.id}`).send(servers.view(server))
    })

    const get = { tags, summary: 'Get one server', params, response: { 200: schema.ServerView } }
    app.get('/servers/:id', { schema: get }, async (request, reply) => {
      const server = await servers.get(request.params.id)
      return reply.header('etag', `"${server.revision}"`).send(servers.view(server))
    })

    const patch = {
      tags,
      summary: 'Change a server',
      description:
        'Fields that are not named stay. A value that is `***` keeps what is stored. One that runs is restarted when its command, args, env or cwd changed, and only then.',
      params,
      headers: IfMatch,
      body: schema.ServerPatch,
      response: { 200: schema.ServerView },
    }
    app.patch('/servers/:id', { schema: patch }, async (request, reply) => {
      const revision = revisionOf(request.headers['if-match'])
      const server = await servers.change(request.params.id, revision, request.body, {
        request_id: request.id,
      })
      return reply.header('etag', `"${server.revision}"`).send(servers.view(server))
    })

    const remove = {
      tags,
      summary: 'Delete a server',
      description: 'One that runs is stopped first.',
      params,
      response: { 204: Type.Null() },
    }
    app.delete('/servers/:id', { schema: remove }, async (request, reply) => {
      await servers.remove(request.params.id, { request_id: request.id })
      return reply.code(204).send(null)
    })

    const importing = {
      tags,
      summary: 'Import servers from a pasted snippet',
      description:
        'Understands `mcpServers`, `servers` and TOML snippets as READMEs show them. Starts nothing.',
      body: importSchema.ImportInput,
      response: { 200: importSchema.ImportReport },
    }
    app.post('/servers/import', { schema: importing }, async (request) =>
      importer.run(request.body, { request_id: request.id }),
    )
  }
}
