import type { Agents } from '../agents/agents.service.ts'
import { AgentToolsInput } from '../gateway/visibility/visibility.schema.ts'
import { type HttpServer, HttpServerInput } from '../http-servers/http-servers.schema.ts'
import type { HttpServers } from '../http-servers/http-servers.service.ts'
import { AppError } from '../kernel/errors.ts'
import type { AuditEntry } from '../kernel/facts.ts'
import { problemIn } from '../kernel/validate.ts'
import { VERSION } from '../kernel/version.ts'
import { type Server, ServerInput } from '../servers/servers.schema.ts'
import type { Servers } from '../servers/servers.service.ts'
import { createExport, type ExportedServer } from '../transfer/export.service.ts'
import { createImport, type ImportDeps } from '../transfer/import.service.ts'
import { transferRoutes } from '../transfer/transfer.routes.ts'
import type { openGateway } from './gateway.ts'

interface Parts {
  readonly servers: Servers
  readonly httpServers: HttpServers
  readonly agents: Pick<Agents, 'usedBy'>
  readonly gateway: Pick<Awaited<ReturnType<typeof openGateway>>, 'agentTools' | 'visibility'>
  readonly audit: (entry: AuditEntry) => Promise<void>
}

/** Export and import of servers, and of the tools that agents see. */
export function openTransfer({ servers, httpServers, agents, gateway, audit }: Parts) {
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
    agents: {
      problem: (tools) => problemIn(AgentToolsInput, tools),
      current: (agentType) => gateway.agentTools.of(agentType),
      change: (agentType, { tool_mode, servers: ids, tools }, by) => {
        const lists = Object.entries(tools).map(([id, names]): [string, string[]] => [id, [...names]])
        const input = { tool_mode, servers: ids && [...ids], tools: Object.fromEntries(lists) }
        return gateway.visibility.change(agentType, input, by)
      },
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
