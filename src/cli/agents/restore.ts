import type { Run } from '../run/context.ts'
import { agentNamed } from './agent-named.ts'
import { writeFiles } from './write-files.ts'

/** `toolroom agents restore AGENT`: everything that Toolroom wrote leaves the agent's files. */
export const restoreAgent: Run = async (context) => {
  const { api, given } = context
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  return writeFiles(context, {
    question: `Remove everything that Toolroom wrote for ${name}`,
    change: async (dry_run) =>
      (await api.post('/api/backups/restore', { body: { agent_type, dry_run } })).items,
  })
}
