import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ErrorCode } from '../kernel/error-catalogue.ts'
import { invalidField } from '../kernel/errors.ts'
import { callerOf, operationsOf, wholeList } from '../kernel/rest-parts.ts'
import type { Agents } from './agents.service.ts'
import * as schema from './edit/edit.schema.ts'
import { AgentKey } from './read/agents.schema.ts'

const operation = operationsOf('Agents')
const params = AgentKey
const response = { 200: schema.ChangeReport }
/** Errors that concern the file, in addition to those that concern the request. */
const errors: ErrorCode[] = [
  'config_changed',
  'config_unparsable',
  'config_read_only',
  'config_unsafe',
  'config_too_large',
  'config_locked',
  'agent_not_installed',
  'not_supported',
  'server_isolated',
  'disk_full',
]

export function editRoutes(agents: Agents): FastifyPluginAsyncTypebox {
  return async (app) => {
    const put = operation(
      "Update the agent's server configuration",
      'Adds or updates entries. Every other byte of the file stays unchanged. `dry_run` returns the diff only.',
      { params, body: schema.PutServers, response, errors },
    )
    app.put('/agents/:agent_type/servers', put, (request) =>
      agents.edit.set(request.params.agent_type, request.body, callerOf(request)),
    )

    const remove = operation(
      'Remove servers from the agent configuration',
      'By name, in the body or in the query. Without names, all entries that Toolroom manages are removed.',
      { params, querystring: schema.RemoveQuery, body: schema.RemoveBody, response, errors },
    )
    app.delete('/agents/:agent_type/servers', remove, (request) => {
      const { name, ...query } = request.query
      const { names, ...body } = request.body ?? {}
      if (name && names) throw invalidField('/names', 'must be given either in the body or in the query')
      const by = callerOf(request)
      return agents.edit.remove(request.params.agent_type, names ?? name, { ...query, ...body }, by)
    })

    const add = operation(
      'Add an HTTP server to the agent configuration',
      'A registered server by `server_id`, or an entry with a URL.',
      { params, body: schema.AddHttpServer, response, errors },
    )
    app.post('/agents/:agent_type/http-servers', add, (request) =>
      agents.edit.addHttp(request.params.agent_type, request.body, callerOf(request)),
    )

    const connect = operation(
      'Connect the agent to the gateway',
      'Creates a key and writes one entry, `toolroom`, through which the agent reaches every server. An agent that accepts only local commands gets a command that starts a bridge. With `take_over`, entries whose servers the gateway offers leave the file in the same change, and come back with `disconnect`; without it, `doubled` names the tools that the agent gets twice. `dry_run` returns the diff only.',
      { params, body: schema.ConnectInput, response, errors },
    )
    app.post('/agents/:agent_type/connect', connect, (request) =>
      agents.edit.connect(request.params.agent_type, request.body ?? {}, callerOf(request)),
    )

    const disconnect = operation(
      'Disconnect the agent from the gateway',
      'Removes the entry and its key, and restores the entries that were parked. The file gets the exact bytes from before, unless another program has changed it since; then only these entries change.',
      { params, body: schema.DisconnectInput, response, errors },
    )
    app.post('/agents/:agent_type/disconnect', disconnect, (request) =>
      agents.edit.disconnect(request.params.agent_type, request.body ?? {}, callerOf(request)),
    )

    const undo = operation(
      "Undo the last change to the agent's file",
      'Restores the exact bytes. Each further undo goes back one more change. The current content is kept as a backup.',
      { params, body: schema.UndoInput, response, errors: [...errors, 'nothing_to_undo'] },
    )
    app.post('/agents/:agent_type/undo', undo, (request) =>
      agents.undo(request.params.agent_type, request.body, callerOf(request)),
    )

    const drift = operation(
      'Keep one version of entries that another program has changed',
      'In all files of the agent where another program has changed or removed entries that Toolroom wrote. `toolroom` writes what Toolroom wrote again, `file` accepts what the file says now. `dry_run` with `toolroom` returns the difference; with its `files`, what was edited since is not overwritten.',
      { params, body: schema.DriftInput, response: { 200: schema.DriftReport }, errors },
    )
    app.post('/agents/:agent_type/drift', drift, (request) =>
      agents.keepDrift(request.params.agent_type, request.body, callerOf(request)),
    )

    const backups = operation(
      "List the backups of agents' files, newest first",
      'Each has the content from before one change. The last 20 of each file are kept, and the first one for ever.',
      { response: { 200: schema.BackupList } },
    )
    app.get('/backups', backups, async () => wholeList(agents.backups()))

    const restore = operation(
      "Take everything of Toolroom out of agents' files",
      'Entries that Toolroom wrote leave, and parked ones return. A file to which no other program has written gets the exact bytes from before the first change; in any other file only these entries change. `diff` shows what happens, and each change can be undone.',
      { body: schema.RestoreInput, response: { 200: schema.RestoreReport }, errors: ['disk_full'] },
    )
    app.post('/backups/restore', restore, (request) => agents.restore(request.body ?? {}, callerOf(request)))
  }
}
