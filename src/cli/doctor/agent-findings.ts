import { type AgentSummary, agentsOf } from '../agents/agent-named.ts'
import type { Api } from '../run/service-client.ts'
import { shortPath } from '../run/units.ts'
import { type Finding, hint, ok, problem } from './finding.ts'

/** The agents on this computer, and what is wrong with their files. */
export async function agentFindings(api: Api): Promise<Finding[]> {
  const found = (await agentsOf(api)).flatMap(findingsOf)
  return found.length > 0 ? found : [{ level: 'none', text: 'no agent was found' }]
}

function findingsOf({ agent_type, installed, scopes, drift }: AgentSummary): Finding[] {
  const unread = scopes.flatMap(({ path, parse_error, problem: why, exists }) => {
    if (!exists) return []
    if (parse_error) return [problem(`${agent_type}: ${shortPath(parse_error.message)}`)] // begins with the path
    return why === null ? [] : [hint(`${agent_type}: ${shortPath(path)}: ${why}`)]
  })
  const changed = [...new Set(drift.map(({ name }) => name))]
  const differs = changed.map((name) =>
    hint(`${agent_type}: another program has changed ${name}`, `toolroom agents diff ${agent_type}`),
  )
  const found = [...unread, ...differs]
  return found.length > 0 ? found : installed ? [ok(agent_type)] : []
}
