import type { Run } from '../run/context.ts'
import { agentNamed } from './agent-named.ts'
import { writeFiles } from './write-files.ts'

/** `toolroom agents connect AGENT` */
export const connectAgent: Run = async (context) => {
  const { api, given } = context
  const { agent_type, name } = await agentNamed(api, given.word('AGENT'))
  const options = { take_over: !given.is('keep'), bridge: given.is('bridge'), create: given.is('create') }
  return writeFiles(context, {
    question: `Connect ${name} to the gateway`,
    change: async (dry_run) => [
      await api.post('/api/agents/{agent_type}/connect', {
        path: { agent_type },
        body: { ...options, dry_run },
      }),
    ],
    next: `next: toolroom agents show ${agent_type}    undo: toolroom agents disconnect ${agent_type}`,
  })
}
