import { memo } from '../../kernel/memo.ts'
import { laterDelays } from '../../kernel/restart-delays.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-view.ts'
import { maskArgs, maskCommand, maskValues } from '../../kernel/secrets/secrets.ts'
import type { LastExit, Resources, RestartRules } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { ClientDependency } from '../../mcp/protocol/call.ts'
import type { Catalogue } from '../shared/catalogues.ts'
import type { Health, Stats } from '../shared/server-fields.ts'
import { tokensOf } from '../shared/tool-view.ts'
import type { Engine, ServerLife } from './engine.ts'
import type { Instance } from './instances.ts'
import { placeOf, shownOptions } from './isolation.ts'
import type { DesiredState, InstanceView, Live } from './live.schema.ts'
import type { Server, ServerView } from './servers.schema.ts'

/** The stored fields of a server, with secrets masked, as a caller with the token sees them. */
export const definitionOf = memo((server: Server): Omit<ServerView, keyof Live> => {
  const { id, name, package: from, args, env, cwd, description, tags, revision } = server
  const { start_mode, idle_timeout_s, sharing, max_instances, restart, timeouts, tools, expose } = server
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const shown = { args: maskArgs(args), env: maskValues(env), cwd, description, tags: [...tags] }
  const command = maskCommand(server.command)
  const auto_start = start_mode === 'eager'
  const { isolation, isolation_options } = server
  const confinement = {
    isolation,
    isolation_options: shownOptions(isolation_options),
    place: placeOf(server),
  }
  const run = {
    ...confinement,
    start_mode,
    auto_start,
    idle_timeout_s,
    sharing,
    max_instances,
    restart,
    timeouts,
  }
  const settings = { ...run, tools, expose }
  return { id, type: 'stdio', name, command, package: from, ...shown, ...settings, ...times, revision }
})

/** The same for a caller without the token, who sees less of the command. */
export const publicDefinitionOf = memo((server: Server): Omit<ServerView, keyof Live> => {
  const { command, args } = server
  return { ...definitionOf(server), command: publicCommand(command), args: publicArgs(command, args) }
})

export interface Current {
  readonly life: ServerLife
  /** Of all processes together. */
  readonly resources: Resources | null
  /** The instances that run for one client alone. */
  readonly instances: readonly InstanceView[]
  readonly desired: DesiredState
  readonly catalogue: Catalogue | undefined
  readonly stats: Stats
  readonly linesDropped: number
  readonly usedBy: readonly string[]
  /** A process runs with a secret that has changed since. */
  readonly restartNeeded: boolean
}

/** The values that `liveOf` shows, except the uptime, which is different each time. */
export function shownIn(current: Current): unknown[] {
  const { life, instances, desired, catalogue, stats, linesDropped, usedBy, restartNeeded } = current
  const { state, restartCount, lastExit, lastError, resources, client } = life
  const own = instances.flatMap((instance) => [instance.id, instance.pid, instance.resources])
  const runtime = [state, restartCount, lastExit, lastError, resources, isRecent(life)]
  const problems = [client?.strayLines, client?.listError?.message]
  return [...runtime, ...own, ...problems, desired, catalogue, stats, linesDropped, usedBy, restartNeeded]
}

export const uptimeOf = ({ uptimeMs }: ServerLife): number | null =>
  uptimeMs === null ? null : Math.round(uptimeMs) / 1000

/** The fields that show the current state of a server. */
export function liveOf(current: Current, { max_delay_s }: RestartRules): Live {
  const { life, resources, instances, desired, catalogue, stats, linesDropped, usedBy } = current
  const { state, restartCount, lastExit, lastError } = life
  const tool_count = catalogue?.tools.length ?? null
  return {
    status: state.status,
    desired_state: desired,
    health: healthOf(life, tool_count),
    pid: state.status === 'running' ? state.pid : null,
    started_at: state.status === 'running' ? isoTime(state.started_at) : null,
    uptime_s: uptimeOf(life),
    restart_count: restartCount,
    next_retry_at: state.status === 'backoff' ? isoTime(state.next_retry_at) : null,
    later_retries_s: state.status === 'backoff' ? laterDelays(state.attempt, max_delay_s) : [],
    last_exit: lastExit && exitView(lastExit),
    recent_exits: life.recentExits.map((exit) => ({
      ...exitView(exit),
      ran_s: Math.round(exit.ranMs) / 1000,
    })),
    last_error: lastError && { ...lastError },
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    capabilities: catalogue?.capabilities ?? null,
    tool_count,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    resources: resources && { ...resources },
    sharing_reason: sharingReason(catalogue),
    instances: [...sharedInstance(life), ...instances],
    stats,
    log_lines_dropped: linesDropped,
    used_by_agents: [...usedBy],
    restart_needed: current.restartNeeded,
  }
}

const exitView = ({ code, signal, at, stderr_tail }: LastExit) => ({
  code,
  signal,
  at: isoTime(at),
  stderr_tail: [...stderr_tail],
})

const REASONS: Readonly<Record<ClientDependency, string>> = {
  roots: 'It asked its client for roots',
  sampling: 'It asked its client for sampling',
  elicitation: 'It asked its client for input',
  logging: 'It sent log messages during a call',
  tasks: 'It announces tasks',
}

export const sharingReason = (catalogue: Catalogue | undefined): string | null =>
  catalogue?.depends_on === undefined ? null : REASONS[catalogue.depends_on]

/** The process that clients share, if it is running. */
export function sharedInstance({ state, resources }: ServerLife): InstanceView[] {
  if (state.status !== 'running') return []
  const { pid, started_at } = state
  return [
    {
      id: 'shared',
      pid,
      agent_type: null,
      session_id: null,
      started_at: isoTime(started_at),
      resources: resources && { ...resources },
    },
  ]
}

/** The instances that are running. */
export function instanceViews(
  instances: ReadonlyMap<string, Instance>,
  engine: Pick<Engine, 'life'>,
): InstanceView[] {
  const views: InstanceView[] = []
  for (const { id, number, owner } of instances.values()) {
    const { state, resources } = engine.life(id)
    if (state.status !== 'running') continue
    const { pid, started_at } = state
    const { agentType: agent_type, sessionId: session_id } = owner
    views.push({ id: number, pid, agent_type, session_id, started_at: isoTime(started_at), resources })
  }
  return views
}

/** The time after which a restart no longer degrades the health of a server. */
const RECENT_MS = 5 * 60_000

/** Always has a reason, and an action where one is needed. */
function healthOf(life: ServerLife, toolCount: number | null): Health {
  const { state, lastError } = life
  const having = toolCount === null ? '' : ` with ${toolCount} ${toolCount === 1 ? 'tool' : 'tools'}`
  switch (state.status) {
    case 'running':
      return problemOfRunning(life) ?? { level: 'healthy', summary: `Running${having}`, action: null }
    case 'idle':
      return lastError
        ? { level: 'unhealthy', summary: lastError.message, action: lastError.hint }
        : { level: 'healthy', summary: `Asleep${having}; a call wakes it`, action: null }
    case 'starting':
      return { level: 'unknown', summary: 'Starting', action: null }
    case 'stopping':
      return { level: 'unknown', summary: 'Stopping', action: null }
    case 'backoff':
    case 'failed':
      return { level: 'unhealthy', summary: state.error.message, action: state.error.hint }
    case 'stopped':
      return lastError
        ? { level: 'unhealthy', summary: lastError.message, action: lastError.hint }
        : { level: 'unknown', summary: 'Stopped', action: null }
  }
}

const isRecent = ({ uptimeMs }: ServerLife): boolean => (uptimeMs ?? 0) < RECENT_MS

function problemOfRunning(life: ServerLife): Health | undefined {
  const { client, restartCount } = life
  const listError = client?.listError
  if (listError) {
    const summary = `Running, but its tools could not be listed. ${listError.message}`
    const action = `Its list is requested again, and calls work. ${listError.hint ?? "Check the server's log"}`
    return { level: 'degraded', summary, action }
  }
  const strayLines = client?.strayLines ?? 0
  if (strayLines > 0) {
    const lines = strayLines === 1 ? 'a line' : `${strayLines} lines`
    const wrong = strayLines === 1 ? 'is not an MCP message' : 'are not MCP messages'
    const summary = `Running, but it wrote ${lines} to stdout that ${wrong}`
    return { level: 'degraded', summary, action: 'Make it log to stderr. The lines are in its log' }
  }
  if (restartCount > 0 && isRecent(life)) {
    const times = restartCount === 1 ? 'once' : `${restartCount} times`
    const summary = `Running again after an unexpected exit; restarted ${times}`
    return { level: 'degraded', summary, action: "Check last_exit and the server's log" }
  }
  return undefined
}
