import type { Run } from '../run/context.ts'
import { agentNamed } from './agent-named.ts'
import { writeFiles } from './write-files.ts'

/** `toolroom agents disconnect AGENT` */
export const disconnectAgent: Run = async (context) => {
  const { api, given } = context
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  return writeFiles(context, {
    question: `Disconnect ${name} from the gateway, and give it its own entries back`,
    change: async (dry_run) => [
      await api.post('/api/agents/{agent_type}/disconnect', { path: { agent_type }, body: { dry_run } }),
    ],
  })
}
