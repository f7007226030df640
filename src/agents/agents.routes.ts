import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operationsOf, wholeList } from '../kernel/rest-parts.ts'
import { type IsOwner, JSON_TYPE } from '../servers/shared/upstreams.routes.ts'
import type { Agents } from './agents.service.ts'
import * as schema from './read/agents.schema.ts'

const operation = operationsOf('Agents')
const params = schema.AgentKey

/** Reading, and what concerns all agents at once. */
export function agentRoutes(agents: Agents, isOwner: IsOwner): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation(
      'List agents',
      'Every agent that Toolroom knows, with the state of its files. `include=servers,tools` adds what a grid of agents and servers shows, in one request.',
      { querystring: schema.AgentListQuery, response: { 200: schema.AgentList } },
    )
    app.get('/agents', list, async (request, reply) => {
      const include = request.query.include?.split(',') ?? []
      return reply.type(JSON_TYPE).send((await agents.listText(include, isOwner(request.headers))) as never)
    })

    const get = operation(
      "Get an agent's configuration",
      'Its files and the entries in them, secrets masked.',
      { params, querystring: schema.AgentQuery, response: { 200: schema.AgentView } },
    )
    app.get('/agents/:agent_type', get, (request) => {
      const { scope, project_path } = request.query
      return agents.get(request.params.agent_type, isOwner(request.headers), scope, project_path)
    })

    const http = operation(
      "List the HTTP servers in an agent's configuration",
      'POST on the same path adds a server. A GET never changes anything.',
      { params, querystring: schema.AgentQuery, response: { 200: schema.HttpEntries } },
    )
    app.get('/agents/:agent_type/http-servers', http, async (request) => {
      const { scope, project_path } = request.query
      const owner = isOwner(request.headers)
      return wholeList(await agents.httpEntries(request.params.agent_type, owner, scope, project_path))
    })

    const effective = operation(
      'List the entries that the agent uses, merged from all its files',
      'Where several files have an entry of the same name, the one that the agent prefers.',
      { params, querystring: schema.EffectiveQuery, response: { 200: schema.Effective } },
    )
    app.get('/agents/:agent_type/effective', effective, async (request) =>
      wholeList(await agents.effective(request.params.agent_type, request.query.project_path)),
    )

    const file = operation(
      "Read lines of an agent's file",
      'The file as it is, also when it cannot be parsed. Shown are keys, numbers, names, commands, arguments, folders and URLs; every other text is masked, because it may be a secret.',
      { params, querystring: schema.FileQuery, response: { 200: schema.FileView } },
    )
    app.get('/agents/:agent_type/file', file, async (request) =>
      agents.file(request.params.agent_type, request.query),
    )

    const history = operation(
      "List Toolroom's changes to an agent's files, newest first",
      'Each of them can be undone with its id.',
      { params, querystring: schema.AgentQuery, response: { 200: schema.History } },
    )
    app.get('/agents/:agent_type/history', history, async (request) => {
      const { scope, project_path } = request.query
      return wholeList(agents.history(request.params.agent_type, scope, project_path))
    })
  }
}
