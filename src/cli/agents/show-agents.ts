import { type Answer, emptyList, type Run, rowWith } from '../run/command-context.ts'
import { shortPath, thousands, withoutFile } from '../run/human-readable.ts'
import { type Line, type Span, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'
import { withReadingApi } from '../service/service-on-demand.ts'
import { type Keep, keepVersion } from './connect-disconnect.ts'
import { diffLines } from './file-change-lines.ts'
import { type AgentSummary, agentNamed, agentsOf } from './find-agent.ts'

const AGENT_HEAD = ['AGENT', 'ENTRIES', 'VIA', 'TOOLS', '~TOKENS', 'FILE', '']

/** `toolroom agents` */
export const listAgents: Run = async (context) => {
  const { given } = context
  const [all, scan] = await withReadingApi(context, (api) =>
    Promise.all([agentsOf(api), api.get('/api/agents/scan')]),
  )
  const agents = given.is('all') ? all : all.filter(isHere)
  const [first] = agents
  if (!first)
    return emptyList({ items: [] }, 'No agent was found on this computer.', 'next: toolroom agents --all')
  return {
    json: { items: agents },
    table: { head: AGENT_HEAD, rows: agents.map((agent) => agentRow(agent, scan)) },
    next: `next: toolroom agents show ${first.agent_type}`,
  }
}

/** Found on this computer, or with a file of its own. */
const isHere = ({ installed, scopes }: AgentSummary): boolean =>
  installed ||
  scopes.some(({ exists, server_count, parse_error }) => exists && (server_count > 0 || parse_error))

/** Its entries are those of all its files, also of projects: as many as `init` and the first run say. */
function agentRow(agent: AgentSummary, scan: Schemas['AgentScan']): Span[] {
  const { agent_type, connected_via, visible } = agent
  const isGateway = connected_via === 'gateway'
  return [
    agent_type,
    scan.agents.find((scanned) => scanned.agent_type === agent_type)?.entries ?? 0,
    connected_via ?? null,
    isGateway ? visible?.tools || null : null,
    isGateway && visible?.tools ? thousands(visible.tokens) : null,
    fileOf(agent),
    agentProblem(agent),
  ]
}

function fileOf({ scopes }: AgentSummary): string | null {
  const file = scopes.find(({ exists }) => exists) ?? scopes[0]
  return file ? shortPath(file.path) : null
}

function agentProblem({ scopes, drift, installed }: AgentSummary): Span {
  for (const { parse_error, problem } of scopes) {
    if (parse_error) return toned('err', `! ${withoutFile(parse_error.message)}`)
    if (problem !== null) return toned('err', `! ${problem}`)
  }
  if (drift.length > 0) return toned('warn', `≠ ${drift.map(({ name }) => name).join(', ')}`)
  return installed ? '' : toned('dim', 'not found')
}

const ENTRY_HEAD = ['ENTRY', 'TYPE', 'STATE', 'SCOPE', 'SERVER', 'RUNS']

/** `toolroom agents show AGENT` */
export const showAgent: Run = async ({ api, given }) => {
  const { agent_type } = await agentNamed(api, given.word('AGENT'))
  const agent = await api.get('/api/agents/{agent_type}', { path: { agent_type } })
  const { name, scopes, servers, reload_hint, notes, installed } = agent
  const files = scopes.map(
    ({ scope, path, exists, parse_error }): Line => [
      `  ${scope}  ${shortPath(path)}`,
      parse_error
        ? toned('err', `  ! line ${parse_error.line}: ${parse_error.message}`)
        : exists
          ? ''
          : toned('dim', '  no such file'),
    ],
  )
  return {
    json: agent,
    ...(servers.length > 0 && { table: { head: ENTRY_HEAD, rows: servers.map(entryRow) } }),
    plain: servers.map((entry) => rowWith(entry, 'name', 'type', 'scope', 'linked_server_id')),
    title: [
      `${name}${installed ? '' : ' was not found on this computer'}`,
      ...files,
      ...notes.map((note) => `  ${note}`),
      ...(reload_hint === null ? [] : [`Reload: ${reload_hint}`]),
    ],
    next: `next: toolroom agents connect ${agent_type} --dry-run`,
  }
}

function entryRow(entry: Schemas['AgentEntry']): Span[] {
  const { name, type, scope, linked_server_id, url, command, args = [] } = entry
  return [name, type, entryState(entry), scope, linked_server_id, url ?? [command ?? '', ...args].join(' ')]
}

function entryState({ parked, problem, differs, enabled }: Schemas['AgentEntry']): Span {
  if (problem !== null) return toned('err', `✕ ${problem}`)
  if (parked) return toned('dim', '○ parked')
  if (differs.length > 0) return toned('warn', `≠ ${differs.join(', ')}`)
  return enabled === false ? toned('dim', '○ off') : toned('ok', '● on')
}

/**
 * `toolroom agents diff AGENT`: what other programs have changed of what Toolroom wrote, else what Toolroom would write over
 * entries that differ from their servers.
 */
export const diffAgent: Run = async (context) => {
  const { api, given } = context
  const keep = given.flag('keep') as Keep | undefined
  const { agent_type } = await agentNamed(api, given.word('AGENT'))
  const path = { agent_type }
  const report = await api.post('/api/agents/{agent_type}/drift', {
    path,
    body: { keep: 'toolroom', dry_run: true },
  })
  if (report.total > 0) return keep ? keepVersion(context, agent_type, keep) : driftAnswer(agent_type, report)
  if (keep)
    return emptyList(
      { keep, dry_run: given.is('dry-run'), items: [], total: 0 },
      `No other program has changed what Toolroom wrote for ${agent_type}.`,
    )
  const { servers } = await api.get('/api/agents/{agent_type}', { path })
  const ids = servers.flatMap(({ linked_server_id, differs }) =>
    linked_server_id !== null && differs.length > 0 ? [linked_server_id] : [],
  )
  if (ids.length === 0)
    return emptyList(
      { agent_type, changed: false, diff: '' },
      `The entries of ${agent_type} are those of Toolroom.`,
    )
  const body = { server_ids: ids, dry_run: true }
  const differing = await api.put('/api/agents/{agent_type}/servers', { path, body })
  return {
    json: differing,
    lines: diffLines(differing),
    next: `next: toolroom enable ${ids[0]} --in ${agent_type}`,
  }
}

/** The lines that `--keep toolroom` would take out and write. */
function driftAnswer(agent_type: string, report: Schemas['DriftReport']): Answer {
  return {
    json: report,
    lines: [
      `Another program has changed what Toolroom wrote for ${agent_type}. To write it again would change:`,
      ...report.items.flatMap(diffLines),
      `Keep what Toolroom wrote:         toolroom agents diff ${agent_type} --keep toolroom`,
      `Keep what the file says now:      toolroom agents diff ${agent_type} --keep file`,
    ],
  }
}
