import type { Run } from '../run/context.ts'
import { agentNamed } from './agent-named.ts'
import { diffLines } from './file-change.ts'

/** `toolroom agents diff AGENT`: what Toolroom would write over entries that differ from their servers. */
export const diffAgent: Run = async ({ api, given }) => {
  const { agent_type } = await agentNamed(api, given.word('AGENT'))
  const path = { agent_type }
  const { servers } = await api.get('/api/agents/{agent_type}', { path })
  const ids = servers.flatMap(({ linked_server_id, differs }) =>
    linked_server_id !== null && differs.length > 0 ? [linked_server_id] : [],
  )
  if (ids.length === 0)
    return {
      json: { agent_type, changed: false, diff: '' },
      lines: [`The entries of ${agent_type} are those of Toolroom.`],
      plain: [],
    }
  const body = { server_ids: ids, dry_run: true }
  const report = await api.put('/api/agents/{agent_type}/servers', { path, body })
  return {
    json: report,
    lines: diffLines(report),
    next: `next: toolroom enable ${ids[0]} --in ${agent_type}`,
  }
}
