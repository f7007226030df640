import type { Static } from 'typebox'
import type { Agents } from '../agents/agents.service.ts'
import type { RegisteredServer } from '../agents/catalogue/server-definition.ts'
import { AgentToolsInput } from '../gateway/catalogue/visibility.schema.ts'
import { PresetInput } from '../gateway/presets/presets.schema.ts'
import { createAgentImport } from '../import/agent-import.ts'
import { createFileExport } from '../import/file-export.ts'
import { FileImport } from '../import/file-import.ts'
import { createSnippetImport } from '../import/snippet-import.ts'
import { ServerKinds } from '../import/stdio-and-http-servers.ts'
import type { Caller } from '../kernel/rest-parts.ts'
import { problemIn } from '../kernel/validate.ts'
import { VERSION } from '../kernel/version.ts'
import type { Basics } from './basics.ts'
import type { GatewayAndServers } from './gateway-and-servers.ts'

/** The imports of snippets, of agents' files and of exported files, and the export. */
export function openImports(
  { config, references, namedSecrets, audit }: Basics,
  { gateway, tools }: GatewayAndServers,
  agents: Pick<Agents, 'importable' | 'usedBy'>,
  registered: () => Promise<readonly RegisteredServer[]>,
) {
  const { servers, httpServers, packages, runtime } = tools
  const kinds = new ServerKinds({ servers, httpServers, references })
  const common = {
    kinds,
    home: config.platform.home,
    isOwnSetting: (name: string) => references.isOwnSetting(name),
    namedSecrets,
    install: (spec: string, by: Caller) => packages.installForServer(spec, by),
  }
  return {
    snippets: createSnippetImport({
      ...common,
      findProgram: runtime.findProgram,
      isSet: ({ kind, name }) =>
        kind === 'secret'
          ? namedSecrets.current(name) !== undefined
          : config.platform.env[name] !== undefined,
    }),
    agents: createAgentImport({
      ...common,
      files: agents.importable,
      registered,
      secretOf: (name) => namedSecrets.current(name)?.value,
    }),
    exportFile: createFileExport({
      kinds,
      namedSecrets,
      presets: () =>
        gateway.presets.list().map(({ name, servers, tools }) => ({ name, choice: { servers, tools } })),
      agents: (ids) => {
        const links = new Map<string, string[]>()
        for (const id of ids)
          for (const type of agents.usedBy(id)) links.set(type, [...(links.get(type) ?? []), id])
        const chosen = gateway.agentTools.all()
        return [...new Set([...chosen.keys(), ...links.keys()])].sort().map((agent_type) => {
          const tools = chosen.get(agent_type)
          return {
            agent_type,
            linked_servers: links.get(agent_type) ?? [],
            tools: tools ? { ...tools } : null,
          }
        })
      },
      audit,
      version: VERSION,
      now: Date.now,
    }),
    files: new FileImport({
      kinds,
      namedSecrets,
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
    }),
  }
}
