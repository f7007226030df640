import type { Run } from '../run/context.ts'
import { type Span, toned } from '../run/line.ts'
import { shortPath, thousands } from '../run/units.ts'
import { withReadingApi } from '../service/reading-api.ts'
import { type AgentSummary, agentsOf } from './agent-named.ts'

const HEAD = ['AGENT', 'SERVERS', 'VIA', 'TOOLS', '~TOKENS', 'FILE', '']

/** `toolroom agents` */
export const listAgents: Run = async (context) => {
  const { given } = context
  const all = await withReadingApi(context, agentsOf)
  const agents = given.is('all') ? all : all.filter(isHere)
  const [first] = agents
  if (!first)
    return {
      json: { items: [] },
      plain: [],
      lines: ['No agent was found on this computer.'],
      next: 'next: toolroom agents --all',
    }
  return {
    json: { items: agents },
    table: { head: HEAD, rows: agents.map(rowOf) },
    next: `next: toolroom agents show ${first.agent_type}`,
  }
}

/** Found on this computer, or with a file of its own. */
const isHere = ({ installed, scopes }: AgentSummary): boolean =>
  installed ||
  scopes.some(({ exists, server_count, parse_error }) => exists && (server_count > 0 || parse_error))

function rowOf(agent: AgentSummary): Span[] {
  const { agent_type, server_count, connected_via, visible } = agent
  const isGateway = connected_via === 'gateway'
  return [
    agent_type,
    server_count,
    connected_via ?? null,
    isGateway ? visible?.tools : null,
    isGateway ? thousands(visible?.tokens) : null,
    fileOf(agent),
    problemOf(agent),
  ]
}

function fileOf({ scopes }: AgentSummary): string | null {
  const file = scopes.find(({ exists }) => exists) ?? scopes[0]
  return file ? shortPath(file.path) : null
}

function problemOf({ scopes, drift, installed }: AgentSummary): Span {
  for (const { parse_error, problem } of scopes) {
    if (parse_error) return toned('err', `! line ${parse_error.line}: ${parse_error.message}`)
    if (problem !== null) return toned('err', `! ${problem}`)
  }
  if (drift.length > 0) return toned('warn', `≠ ${drift.map(({ name }) => name).join(', ')}`)
  return installed ? '' : toned('dim', 'not found')
}
