import { allServers, serverNamed } from '../run/any-server.ts'
import { type Context, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Api } from '../run/service-client.ts'
import { diffLines, type FileChange, writtenLines } from './file-change-lines.ts'
import { type AgentSummary, agentsIn, agentsOf } from './find-agent.ts'

/** What became of one agent. */
export interface SwitchedAgent {
  readonly agent_type: string
  readonly via: 'gateway' | 'direct'
  readonly changed: boolean
  /** Of the agent's own file. Through the gateway, none is written. */
  readonly file: FileChange | null
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null } | null
}

/** `toolroom enable SERVER --in AGENT[,AGENT|all]` */
export const enable = switchServer(true)
/** `toolroom disable SERVER --in AGENT[,AGENT|all]` */
export const disable = switchServer(false)

function switchServer(isOn: boolean): Run {
  return async (context) => {
    const { api, given } = context
    const list = given.flag('in')
    if (list === undefined) throw usage('In which agent?', 'Add --in AGENT, or --in all')
    const [server, agents] = await Promise.all([serverNamed(api, given.word('SERVER')), agentsOf(api)])
    const chosen = agentsIn(agents, list)
    if (chosen.length === 0) throw new Failure('not_found', 'No agent was found on this computer', null)
    const items: SwitchedAgent[] = []
    for (const agent of chosen)
      items.push(await switchIn(context, agent, server.id, isOn, chosen.length === 1))
    const failed = items.filter(({ error }) => error).length
    const isDry = given.is('dry-run')
    return {
      json: { dry_run: isDry, server_id: server.id, enabled: isOn, items },
      lines: [
        ...items.flatMap((item) => agentLines(item, server.id, isOn, isDry)),
        ...(isDry ? ['Nothing was written (--dry-run).'] : []),
      ],
      plain: items.map(({ agent_type, via, changed, error }) => [agent_type, via, changed, error?.message]),
      exit: exitOf(failed, items.length),
    }
  }
}

/** Through the gateway if the agent is connected to it, otherwise in its file. Throws if it is the only one and fails. */
export async function switchIn(
  context: Context,
  agent: AgentSummary,
  id: string,
  isOn: boolean,
  isOnly: boolean,
): Promise<SwitchedAgent> {
  const { agent_type, connected_via } = agent
  const via = connected_via === 'gateway' ? 'gateway' : 'direct'
  try {
    const file = via === 'gateway' ? null : await inFile(context, agent, id, isOn)
    const changed = file ? file.changed : await inGateway(context, agent, id, isOn)
    return { agent_type, via, changed, file, error: null }
  } catch (error) {
    if (isOnly || !(error instanceof Failure)) throw error
    const { code, message, hint } = error
    return { agent_type, via, changed: false, file: null, error: { code, message, hint } }
  }
}

/** The choice of servers that the gateway offers to this agent. No file changes. */
async function inGateway(
  { api, given }: Context,
  agent: AgentSummary,
  id: string,
  isOn: boolean,
): Promise<boolean> {
  const all = (await allServers(api)).filter(({ expose }) => expose).map((server) => server.id)
  const before = agent.gateway_servers ?? all
  if (before.includes(id) === isOn) return false
  const servers = isOn ? [...before, id] : before.filter((other) => other !== id)
  if (!given.is('dry-run'))
    await api.put('/api/agents/{agent_type}/tools', {
      path: { agent_type: agent.agent_type },
      body: { servers },
    })
  return true
}

async function inFile(
  { api, given }: Context,
  agent: AgentSummary,
  id: string,
  isOn: boolean,
): Promise<FileChange> {
  const path = { agent_type: agent.agent_type }
  const dry_run = given.is('dry-run')
  if (isOn)
    return api.put('/api/agents/{agent_type}/servers', {
      path,
      body: { server_ids: [id], enable: true, dry_run },
    })
  const entry = agent.servers?.find(({ linked_server_id, parked }) => linked_server_id === id && !parked)
  if (entry)
    return api.put('/api/agents/{agent_type}/servers', {
      path,
      body: { remove: [entry.name], scope: entry.scope, dry_run },
    })
  const file = agent.scopes[0]
  return {
    ...path,
    path: file?.path ?? '',
    changed: false,
    diff: '',
    backup_id: null,
    reload_hint: null,
    warnings: [],
  }
}

export function agentLines(
  { agent_type, changed, file, error }: SwitchedAgent,
  id: string,
  isOn: boolean,
  isDry: boolean,
): Line[] {
  if (error)
    return [signed('err', `${agent_type}  ${error.message}${error.hint === null ? '' : `. ${error.hint}`}`)]
  if (file) return isDry ? diffLines(file) : writtenLines([file])
  const state = isOn ? 'sees' : 'no longer sees'
  if (!changed) return [signed('dim', `${agent_type}  nothing to change`)]
  const does = isDry ? `would change: it ${state}` : state
  return [signed('ok', `${agent_type}  ${does} ${id} through the gateway`)]
}

/** The agents that can use a server. */
export const usersOf = async (api: Api, id: string): Promise<readonly string[]> =>
  (await allServers(api)).find((server) => server.id === id)?.used_by_agents ?? []

/** Says which agents see a new server: those that follow all servers, and those that were named. */
export const usersLine = (users: readonly string[], id: string): Line => [
  users.length === 0
    ? `  agents None of them sees it yet. toolroom enable ${id} --in AGENT`
    : `  agents ${users.join(' ')}`,
]
