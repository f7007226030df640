import type { Static } from 'typebox'
import type { Agents } from '../../agents/agents.service.ts'
import type { Secrets } from '../../api/secrets/secrets.service.ts'
import { PresetInput } from '../../gateway/presets/presets.schema.ts'
import { AgentToolsInput } from '../../gateway/visibility/visibility.schema.ts'
import { createExport, type ExportedServer } from '../../import/read/export-file/export.service.ts'
import { createImport, type ImportDeps } from '../../import/read/export-file/import.service.ts'
import { transferRoutes } from '../../import/read/export-file/transfer.routes.ts'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/facts.ts'
import { problemIn } from '../../kernel/validate.ts'
import { VERSION } from '../../kernel/version.ts'
import { type HttpServer, HttpServerInput } from '../../servers/http/http-servers.schema.ts'
import type { HttpServers } from '../../servers/http/http-servers.service.ts'
import { type Server, ServerInput } from '../../servers/stdio/servers.schema.ts'
import type { Servers } from '../../servers/stdio/servers.service.ts'
import type { openGateway } from '../gateway.ts'

interface Parts {
  readonly servers: Servers
  readonly httpServers: HttpServers
  readonly agents: Pick<Agents, 'usedBy'>
  readonly gateway: Pick<Awaited<ReturnType<typeof openGateway>>, 'agentTools' | 'visibility' | 'presets'>
  readonly namedSecrets: Secrets
  readonly audit: (entry: AuditEntry) => Promise<void>
}

/** Export and import of servers, and of the tools that agents see. */
export function openTransfer({ servers, httpServers, agents, gateway, namedSecrets, audit }: Parts) {
  const all = async (): Promise<ExportedServer[]> => [
    ...(await servers.list()).map(stdioEntry),
    ...(await httpServers.list()).map(httpEntry),
  ]
  const kinds: ImportDeps['kinds'] = {
    stdio: {
      problem: (definition) => problemIn(ServerInput, definition),
      add: (definition, by) => servers.add(definition as ServerInput, by),
      change: async (id, { package: from = null, ...definition }, by) => {
        if ((await servers.get(id)).package !== from)
          throw new AppError('invalid_input', 'The package of a server cannot be changed')
        return servers.change(id, undefined, definition, by)
      },
      remove: servers.remove,
    },
    http: {
      problem: (definition) => problemIn(HttpServerInput, definition),
      add: (definition, by) => httpServers.add(definition as HttpServerInput, by),
      change: (id, definition, by) => httpServers.change(id, undefined, definition, by),
      remove: httpServers.remove,
    },
  }
  const exportFile = createExport({
    servers: all,
    namedSecrets: async () => {
      const values = (await namedSecrets.list()).map(({ name }) => [name, namedSecrets.current(name)?.value])
      return Object.fromEntries(values)
    },
    presets: () =>
      gateway.presets
        .list()
        .map(({ name, servers: ids, tools }) => ({ name, choice: { servers: ids, tools } })),
    agents: (known) => {
      const links = new Map<string, string[]>()
      for (const { id } of known)
        for (const type of agents.usedBy(id)) links.set(type, [...(links.get(type) ?? []), id])
      const chosen = gateway.agentTools.all()
      return [...new Set([...chosen.keys(), ...links.keys()])].sort().map((agent_type) => {
        const tools = chosen.get(agent_type)
        return { agent_type, linked_servers: links.get(agent_type) ?? [], tools: tools ? { ...tools } : null }
      })
    },
    audit,
    version: VERSION,
    now: Date.now,
  })
  const importFile = createImport({
    servers: all,
    kinds,
    namedSecrets: {
      current: (name) => namedSecrets.current(name)?.value,
      set: namedSecrets.set,
      remove: (name, by) => namedSecrets.remove(name, true, by),
    },
    agents: {
      problem: (tools) => problemIn(AgentToolsInput, tools),
      current: (agentType) => gateway.agentTools.of(agentType),
      change: (agentType, tools, by) =>
        gateway.visibility.change(agentType, tools as Static<typeof AgentToolsInput>, by),
    },
    presets: {
      problem: (choice) => problemIn(PresetInput, choice),
      current: (wanted) => {
        const preset = gateway.presets.list().find(({ name }) => name === wanted)
        return preset && { servers: preset.servers, tools: preset.tools }
      },
      change: (name, choice, by) => gateway.presets.put(name, choice as Static<typeof PresetInput>, by),
    },
  })
  return transferRoutes(exportFile, importFile)
}

/** The fields that a server can be added with. */
function stdioEntry({ id, created_at: _, updated_at: __, revision: ___, ...server }: Server): ExportedServer {
  const { package: from, ...fields } = server
  return { id, type: 'stdio', definition: from === null ? fields : { ...fields, package: from } }
}

function httpEntry({
  id,
  created_at: _,
  updated_at: __,
  revision: ___,
  ...fields
}: HttpServer): ExportedServer {
  return { id, type: 'http', definition: fields }
}
