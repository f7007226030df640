import { readFileSync } from 'node:fs'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { type AgentSummary, agentsOf } from '../agents/find-agent.ts'
import { type AnyServer, allServers, isUntried, needsHelp, TRY_ALL } from '../run/any-server.ts'
import type { Context } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { bytes, counted, shortPath } from '../run/human-readable.ts'
import { repairCommand, whyOrRepair } from '../run/repair-command.ts'
import type { Api, Schemas } from '../run/service-client.ts'
import { connectedAgents } from '../service/starting-agents.ts'
import { type Finding, type Fix, hint, none, ok, problem } from './finding.ts'

export const NOT_RUNNING: Finding = hint(
  'The service is not running, so the servers were not checked',
  'toolroom up',
)

/** The service itself, its token, and which servers do not work. */
export async function toolroomFindings({ service, given, config }: Context, api: Api): Promise<Finding[]> {
  const [health, servers, { items: notices }] = await Promise.all([
    api.get('/api/health'),
    allServers(api),
    api.get('/api/notices', { query: { state: 'open' } }),
  ])
  const pid = given.flag('url') === undefined ? runningInstance(config.folders.data)?.pid : undefined
  const failing = health.checks.filter((check) => !check.ok)
  const weak = notices.find(({ kind }) => kind === 'weak_token')
  const settings = notices.filter(({ kind }) => kind === 'settings')
  const troubled = servers.filter(needsHelp)
  const untried = servers.filter(isUntried)
  const works = servers.filter((server) => server.health.works && !needsHelp(server)).length
  const at = `service ${health.version} at ${service.address}`
  return [
    ok(pid === undefined ? at : `${at}, process ${pid}${memoryOf(pid)}`),
    ...(failing.length === 0 ? [ok('database, logs and disk')] : []),
    ...failing.map(({ name, detail }) => problem(`${name}: ${detail ?? 'does not work'}`)),
    weak ? hint(weak.text, repairCommand({ kind: 'rotate_token' })) : ok('token is random'),
    ...settings.map(({ text }) => hint(text, repairCommand({ kind: 'see_settings' }))),
    ...(works > 0 ? [ok(`${counted(works, 'server')} ${works === 1 ? 'works' : 'work'}`)] : []),
    ...(untried.length > 0
      ? [hint(`${counted(untried.length, 'server')} not tried yet: ${namesOf(untried)}`, TRY_ALL)]
      : []),
    ...troubled
      .filter(({ last_error }) => last_error?.code !== 'command_not_found') // said of its program
      .map((server) => problem(`${server.name}: ${server.health.summary}`, whyOrRepair(server))),
  ]
}

function namesOf(servers: readonly AnyServer[]): string {
  const more = servers.length > 5 ? ` and ${servers.length - 5} more` : ''
  return (
    servers
      .slice(0, 5)
      .map(({ id }) => id)
      .join(', ') + more
  )
}

/** `, 71M`; empty where the system has no /proc. */
function memoryOf(pid: number): string {
  try {
    const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    return Number.isFinite(kibibytes) ? `, ${bytes(kibibytes * 1024)}` : ''
  } catch {
    return ''
  }
}

type Runtime = Schemas['Runtime']

/** The programs that servers need. Without the service, which servers there are is not known. */
export async function runtimeFindings(api: Api, isRunning: boolean): Promise<Finding[]> {
  const { items } = await api.get('/api/runtimes')
  return items.flatMap((runtime) => findingsOfRuntime(runtime, api, isRunning))
}

function findingsOfRuntime(runtime: Runtime, api: Api, isRunning: boolean): Finding[] {
  const { command, path, version, shell_path, needed_by } = runtime
  const needs = `needed by ${needed_by.join(', ')}`
  const fixes = needed_by.map((id) => fixOf(api, id, command, shell_path ?? ''))
  if (path === null) {
    if (needed_by.length === 0) return [none(`${command} not found${isRunning ? ' (not needed)' : ''}`)]
    if (shell_path === null) return [problem(missing(runtime, needs))]
    const found = `Only your login shell finds ${command}, at ${shell_path} (${needs})`
    return [problem(found, undefined, fixes)]
  }
  if (shell_path !== null && needed_by.length > 0) {
    const where =
      'in the PATH of your shell, but not in that of a program that a desktop or a service manager starts'
    return [hint(`${command} (${needs}) is ${where}`, undefined, fixes)]
  }
  if (/[\\/]/.test(command)) return []
  const note = command in PROGRAMS ? ' (only the command; its engine is under containers)' : ''
  return [ok(`${version === null ? command : `${command} ${version}`}${note}`)]
}

/** The message names the folders that were searched, which are many. */
function missing({ command, problem: why }: Runtime, needs: string): string {
  const text = !why || why.code === 'command_not_found' ? `${command} was not found` : why.message
  return `${text} (${needs})${why?.hint ? `. ${why.hint}` : ''}`
}

/** A server that runs keeps its process until its next start. */
const fixOf = (api: Api, id: string, before: string, command: string): Fix => ({
  does: `Set the command of ${id} to ${command}`,
  undo: `toolroom edit ${id} --command ${before}`,
  apply: async () => void (await api.patch('/api/servers/{id}', { path: { id }, body: { command } })),
})

type Abilities = Schemas['IsolationAbilities']
type Ability = Abilities['sandbox'] | Abilities['container']

const PROGRAMS: Readonly<Record<string, string>> = { docker: 'Docker', podman: 'Podman' }

/** Where servers can run here. Without the service, which servers need it is not known. */
export async function isolationFindings(api: Api, isRunning: boolean): Promise<Finding[]> {
  const [abilities, { items }] = await Promise.all([api.get('/api/isolation'), api.get('/api/servers')])
  const findingOf = (kind: 'sandbox' | 'container', label: string): Finding => {
    const ability = abilities[kind]
    if (ability.available) return ok(`${label}${programOf(ability)}`)
    const needed = items.filter(({ isolation }) => isolation === kind).map(({ id }) => id)
    const missing = `${label}: ${ability.problem ?? 'does not work'}`
    const remedy = ability.remedy === null ? '' : `. ${ability.remedy}`
    if (needed.length > 0) return problem(`${missing} (needed by ${needed.join(', ')})${remedy}`)
    if (abilities.default === kind)
      return hint(`${missing} (needed by new servers: default_isolation)${remedy}`)
    return none(`${missing}${isRunning ? ' (not needed)' : ''}`)
  }
  return [findingOf('sandbox', 'sandbox'), findingOf('container', 'containers')]
}

/** ` (bubblewrap 0.8.0)` */
function programOf({ by, version }: Ability): string {
  const words = [by === null ? null : (PROGRAMS[by] ?? by), version].filter((word) => word !== null)
  return words.length === 0 ? '' : ` (${words.join(' ')})`
}

/** Whether the npm registry answers, and whether it can be searched. */
export async function registryFindings(api: Api): Promise<Finding[]> {
  try {
    const { search_available } = await api.post('/api/packages/search', { body: { query: 'mcp', size: 1 } })
    return [ANSWERS, search_available ? ok('offers search') : NO_SEARCH]
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'search_unavailable') return [ANSWERS, NO_SEARCH]
    return [problem(error.message)]
  }
}

const ANSWERS = ok('npm registry answers')
const NO_SEARCH = hint('It offers no search: packages are found by their exact name')

/** Processes of tool servers whose agent has ended. */
export async function processFindings(api: Api): Promise<Finding[]> {
  const { items } = await api.get('/api/processes/orphans')
  if (items.length === 0) return [ok('no leaked processes')]
  const memory = bytes(items.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0))
  const [noun, verb] = items.length === 1 ? ['process has', 'its'] : ['processes have', 'their']
  return [
    hint(
      `${items.length} tool-server ${noun} lost ${verb} agent (${memory})`,
      repairCommand({ kind: 'end_processes' }),
    ),
  ]
}

/** The agents on this computer, what is wrong with their files, and who gets no tools without the service. */
export async function agentFindings(
  { config, mainFile }: Pick<Context, 'config' | 'mainFile'>,
  api: Api,
  isRunning: boolean,
): Promise<Finding[]> {
  const agents = await agentsOf(api)
  const { starting, cutOff } = connectedAgents(isRunning ? [] : agents, config, mainFile)
  const found = agents.flatMap((agent) => [
    ...(cutOff.includes(agent) ? [cutOffFinding(agent)] : []),
    ...(starting.includes(agent) ? [startingFinding(agent)] : []),
    ...findingsOfAgent(agent, cutOff.includes(agent) || starting.includes(agent)),
  ])
  return found.length > 0 ? found : [none('no agent was found')]
}

const cutOffFinding = ({ agent_type }: AgentSummary): Finding =>
  problem(
    `${agent_type}: it gets its tools through Toolroom, which is not running`,
    `toolroom up, or toolroom agents disconnect ${agent_type}`,
  )

const startingFinding = ({ agent_type }: AgentSummary): Finding =>
  hint(
    `${agent_type}: it gets its tools through Toolroom, which is not running. Its next call starts it`,
    'toolroom up',
  )

/** `isNamed`: there is a finding about it already. */
function findingsOfAgent(
  { agent_type, installed, scopes, drift }: AgentSummary,
  isNamed: boolean,
): Finding[] {
  const unread = scopes.flatMap(({ path, parse_error, problem: why, exists }) => {
    if (!exists) return []
    if (parse_error)
      return [
        problem(
          `${agent_type}: ${shortPath(parse_error.message)}`,
          repairCommand({ kind: 'see_file', agent_type }),
        ),
      ] // begins with the path
    return why === null ? [] : [hint(`${agent_type}: ${shortPath(path)}: ${why}`)]
  })
  const changed = [...new Set(drift.map(({ name }) => name))]
  const differs = changed.map((name) =>
    hint(
      `${agent_type}: another program has changed ${name}`,
      repairCommand({ kind: 'see_difference', agent_type }),
    ),
  )
  const found = [...unread, ...differs]
  return found.length > 0 ? found : installed && !isNamed ? [ok(agent_type)] : []
}
