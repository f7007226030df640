import type { AgentTools } from '../gateway/catalogue/visibility.schema.ts'
import type { AgentToolsStore } from '../gateway/catalogue/visibility.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/**
 * Which tools each agent sees. Read once, then answered from memory. A row that was saved with an alias of the agent
 * applies to the agent; beside the agent's own row, only tools that both show stay visible.
 */
export async function openAgentToolsStore(
  database: ConfigurationDatabase,
  typeOf: (agentType: string) => string,
): Promise<AgentToolsStore> {
  const records = new Map<string, AgentTools>()
  const aliases = new Map<string, string[]>()
  for (const { agent_type, body } of await database.db.selectFrom('agent_tools').selectAll().execute()) {
    try {
      const [type, tools] = [typeOf(agent_type), JSON.parse(body) as AgentTools]
      const other = records.get(type)
      records.set(type, other ? intersectionOf(other, tools) : tools)
      if (type !== agent_type) aliases.set(type, [...(aliases.get(type) ?? []), agent_type])
    } catch {
      // Skipping the row would show the agent tools that are hidden from it.
      throw await database.refuse(`the tools of the agent '${agent_type}' cannot be read`)
    }
  }
  return {
    of: (agentType) => records.get(agentType),
    all: () => records,
    change: async (agentType, edit, frees = false) => {
      const next = await database.change<AgentTools | undefined>(
        async (trx) => {
          const edited = edit(records.get(agentType))
          if (!edited) return [undefined, null]
          const body = JSON.stringify(edited.next)
          await trx.replaceInto('agent_tools').values({ agent_type: agentType, body }).execute()
          // The new row includes what a row of an alias said.
          for (const alias of aliases.get(agentType) ?? [])
            await trx.deleteFrom('agent_tools').where('agent_type', '=', alias).execute()
          return [edited.next, edited.audit]
        },
        { frees, committed: (saved) => saved && records.set(agentType, saved) },
      )
      return next !== undefined
    },
  }
}

/** What both show. The servers and tools of either may be limited. */
function intersectionOf(one: AgentTools, other: AgentTools): AgentTools {
  const both = (a: readonly string[] | null, b: readonly string[] | null) =>
    a && b ? a.filter((name) => b.includes(name)) : (a ?? b)
  const tools = new Map(Object.entries(one.tools))
  for (const [id, names] of Object.entries(other.tools))
    tools.set(id, both(tools.get(id) ?? null, names) ?? [])
  return { ...one, servers: both(one.servers, other.servers), tools: Object.fromEntries(tools) }
}
