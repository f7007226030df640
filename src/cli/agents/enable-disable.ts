import { allServers, serverNamed } from '../run/any-server.ts'
import { canAsk } from '../run/ask-on-terminal.ts'
import { type Context, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { counted } from '../run/human-readable.ts'
import { type Line, signed } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { diffLines, type FileChange, writtenLines } from './file-change-lines.ts'
import { type AgentSummary, agentsIn, agentsOf } from './find-agent.ts'

/** What became of one agent. */
export interface SwitchedAgent {
  readonly agent_type: string
  readonly via: 'gateway' | 'direct'
  readonly changed: boolean
  /** It followed all servers, and has a choice of its own from now on. */
  readonly stopped_following: boolean
  /** Of the agent's own file. Null if none is written. */
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
    const items = await switchIn(context, chosen, server.id, isOn)
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

/**
 * Through the gateway where an agent is connected to it, otherwise in its file: like every write, with the diff and a
 * question. Throws if only one agent is switched and that fails.
 */
export async function switchIn(
  context: Context,
  agents: readonly AgentSummary[],
  id: string,
  isOn: boolean,
): Promise<SwitchedAgent[]> {
  const { given, note, confirm } = context
  const isOnly = agents.length === 1
  const each = async (isDry: boolean) => {
    const items: SwitchedAgent[] = []
    for (const agent of agents) items.push(await switchOne(context, agent, id, { isOn, isOnly, isDry }))
    return items
  }
  const planned = await each(true)
  if (given.is('dry-run')) return planned
  const files = planned.flatMap(({ file }) => (file?.changed ? [file] : []))
  if (files.length > 0) {
    if (!given.is('yes')) for (const line of files.flatMap(diffLines)) note(line)
    await confirm(`Write to ${counted(files.length, 'file')}?`)
  }
  return each(false)
}

interface Switch {
  readonly isOn: boolean
  readonly isOnly: boolean
  readonly isDry: boolean
}

async function switchOne(
  { api }: Context,
  agent: AgentSummary,
  id: string,
  { isOn, isOnly, isDry }: Switch,
): Promise<SwitchedAgent> {
  const { agent_type, connected_via } = agent
  const via = connected_via === 'gateway' ? 'gateway' : 'direct'
  const done = { agent_type, via, stopped_following: false, error: null } as const
  try {
    if (via === 'direct') {
      const file = await inFile(api, agent, id, isOn, isDry)
      return { ...done, changed: file.changed, file }
    }
    const { changed, stopped_following } = await inGateway(api, agent, id, isOn, isDry)
    const file = isOn && agent.keeps_names ? await ownEntry(api, agent, id, isDry) : null
    return { ...done, stopped_following, changed: changed || (file?.changed ?? false), file }
  } catch (error) {
    if (isOnly || !(error instanceof Failure)) throw error
    const { code, message, hint } = error
    return { ...done, changed: false, file: null, error: { code, message, hint } }
  }
}

/** The choice of servers that the gateway offers to this agent. No file changes. */
async function inGateway(api: Api, agent: AgentSummary, id: string, isOn: boolean, isDry: boolean) {
  const all = (await allServers(api)).filter(({ expose }) => expose).map((server) => server.id)
  const followed = agent.gateway_servers == null
  const before = agent.gateway_servers ?? all
  if (before.includes(id) === isOn) return { changed: false, stopped_following: false }
  const servers = isOn ? [...before, id] : before.filter((other) => other !== id)
  if (!isDry)
    await api.put('/api/agents/{agent_type}/tools', {
      path: { agent_type: agent.agent_type },
      body: { servers },
    })
  return { changed: true, stopped_following: followed }
}

/** An agent with an entry for each server needs one for this server, too. */
async function ownEntry(
  api: Api,
  { agent_type, servers = [] }: AgentSummary,
  id: string,
  dry_run: boolean,
): Promise<FileChange | null> {
  if (servers.some(({ linked_server_id, parked }) => linked_server_id === id && !parked)) return null
  return api.put('/api/agents/{agent_type}/servers', {
    path: { agent_type },
    body: { via: 'gateway', server_ids: [id], dry_run },
  })
}

async function inFile(
  api: Api,
  agent: AgentSummary,
  id: string,
  isOn: boolean,
  dry_run: boolean,
): Promise<FileChange> {
  const path = { agent_type: agent.agent_type }
  if (isOn)
    return api.put('/api/agents/{agent_type}/servers', {
      path,
      body: { server_ids: [id], enable: true, dry_run },
    })
  const entry = agent.servers?.find(
    ({ linked_server_id, parked, enabled }) => linked_server_id === id && !parked && enabled !== false,
  )
  if (entry) {
    // What Toolroom wrote, it writes again; an entry of the user's own is kept as it is.
    const off = entry.managed ? { remove: [entry.name] } : { disable: [entry.name] }
    return api.put('/api/agents/{agent_type}/servers', {
      path,
      body: { ...off, scope: entry.scope, dry_run },
    })
  }
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

function agentLines(
  { agent_type, via, changed, stopped_following, file, error }: SwitchedAgent,
  id: string,
  isOn: boolean,
  isDry: boolean,
): Line[] {
  if (error)
    return [signed('err', `${agent_type}  ${error.message}${error.hint === null ? '' : `. ${error.hint}`}`)]
  const written = file === null ? [] : isDry ? diffLines(file) : writtenLines([file])
  if (via === 'direct') return written
  const state = isOn ? 'sees' : 'no longer sees'
  if (!changed) return [signed('dim', `${agent_type}  nothing to change`)]
  const does = isDry ? `would change: it ${state}` : state
  return [
    signed('ok', `${agent_type}  ${does} ${id} through the gateway`),
    ...(stopped_following ? [signed('warn', `${agent_type}  ${STOPPED.replace('AGENT', agent_type)}`)] : []),
    ...written,
  ]
}

/** What `--agents cursor,codex`, `all` or `none` says of a new server. */
export interface ForAgents {
  /** The field of the request. */
  readonly body: Pick<Schemas['ServerInput'], 'agents'>
  /** Those whose file needs an entry. */
  readonly inFiles: readonly AgentSummary[]
  /** Those that follow all servers and are not named. */
  readonly leaving: readonly string[]
}

/** Throws before anything is added if a file would be written and there is no terminal to ask on. */
export async function forAgents({ api, given }: Context): Promise<ForAgents> {
  const list = given.flag('agents')
  if (list === undefined) return { body: {}, inFiles: [], leaving: [] }
  const agents = await agentsOf(api)
  const chosen = list === 'none' ? [] : agentsIn(agents, list)
  const types = chosen.map(({ agent_type }) => agent_type)
  const inFiles = chosen.filter(
    ({ connected_via, keeps_names }) => connected_via !== 'gateway' || keeps_names === true,
  )
  if (inFiles.length > 0 && !given.is('yes') && !given.is('dry-run') && !canAsk())
    throw usage('This writes to files of agents, and there is no terminal to ask on', 'Add --yes')
  const leaving = agents.flatMap(({ agent_type, connected_via, gateway_servers }) =>
    connected_via === 'gateway' && gateway_servers === null && !types.includes(agent_type)
      ? [agent_type]
      : [],
  )
  return list === 'all'
    ? { body: { agents: 'all' }, inFiles, leaving: [] }
    : { body: { agents: types }, inFiles, leaving }
}

/** The agents that see a new server, and what was written for it. */
export async function offeredTo(context: Context, { inFiles, leaving }: ForAgents, id: string) {
  const enabled = inFiles.length === 0 ? [] : await switchIn(context, inFiles, id, true).catch(onNo)
  const used_by_agents = await usersOf(context.api, id)
  const lines = [
    ...enabled.flatMap((item) => agentLines(item, id, true, false)),
    ...leaving.map((type) => signed('warn', `${type}  ${STOPPED.replace('AGENT', type)}`)),
    usersLine(used_by_agents, id),
  ]
  return { enabled, used_by_agents, lines }
}

/** The server was added before the question about the files. */
function onNo(error: unknown): SwitchedAgent[] {
  if (error instanceof Failure && error.code === 'cancelled') return []
  throw error
}

const STOPPED =
  'no longer follows all servers: those that are added later are off. toolroom agents connect AGENT --all lets it follow them again'

/** The agents that can use a server. */
const usersOf = async (api: Api, id: string): Promise<readonly string[]> =>
  (await allServers(api)).find((server) => server.id === id)?.used_by_agents ?? []

/** Says which agents see a new server: those that follow all servers, and those that were named. */
const usersLine = (users: readonly string[], id: string): Line => [
  users.length === 0
    ? `  agents No agent sees it yet. toolroom enable ${id} --in AGENT`
    : `  agents ${users.join(' ')}`,
]
