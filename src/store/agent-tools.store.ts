import type { AgentTools } from '../gateway/visibility/visibility.schema.ts'
import type { AgentToolsStore } from '../gateway/visibility/visibility.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Which tools each agent sees. Read once, then answered from memory. */
export async function openAgentToolsStore(database: ConfigurationDatabase): Promise<AgentToolsStore> {
  const records = new Map<string, AgentTools>()
  for (const { agent_type, body } of await database.db.selectFrom('agent_tools').selectAll().execute()) {
    try {
      records.set(agent_type, JSON.parse(body))
    } catch {
      // Skipping the row would show the agent tools that are hidden from it.
      throw await database.refuse(`the tools of the agent '${agent_type}' cannot be read`)
    }
  }
  return {
    of: (agentType) => records.get(agentType),
    change: async (agentType, edit) => {
      const next = await database.change<AgentTools | undefined>(
        async (trx) => {
          const edited = edit(records.get(agentType))
          if (!edited) return [undefined, null]
          const body = JSON.stringify(edited.next)
          await trx.replaceInto('agent_tools').values({ agent_type: agentType, body }).execute()
          return [edited.next, edited.audit]
        },
        { committed: (saved) => saved && records.set(agentType, saved) },
      )
      return next !== undefined
    },
  }
}
