import type { Run } from '../run/context.ts'
import { type Line, type Span, toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { shortPath } from '../run/units.ts'
import { agentNamed } from './agent-named.ts'

const HEAD = ['ENTRY', 'TYPE', 'STATE', 'SCOPE', 'SERVER', 'RUNS']

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
    ...(servers.length > 0 && { table: { head: HEAD, rows: servers.map(rowOf) } }),
    plain: servers.map(({ name: entry, type, scope, linked_server_id }) => [
      entry,
      type,
      scope,
      linked_server_id,
    ]),
    title: [
      `${name}${installed ? '' : ' was not found on this computer'}`,
      ...files,
      ...notes.map((note) => `  ${note}`),
      ...(reload_hint === null ? [] : [`Reload: ${reload_hint}`]),
    ],
    next: `next: toolroom agents connect ${agent_type} --dry-run`,
  }
}

function rowOf(entry: Schemas['AgentEntry']): Span[] {
  const { name, type, scope, linked_server_id, url, command, args = [] } = entry
  return [name, type, stateOf(entry), scope, linked_server_id, url ?? [command ?? '', ...args].join(' ')]
}

function stateOf({ parked, problem, differs, enabled }: Schemas['AgentEntry']): Span {
  if (problem !== null) return toned('err', `✕ ${problem}`)
  if (parked) return toned('dim', '○ parked')
  if (differs.length > 0) return toned('warn', `≠ ${differs.join(', ')}`)
  return enabled === false ? toned('dim', '○ off') : toned('ok', '● on')
}
