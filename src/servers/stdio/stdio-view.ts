import { memo } from '../../kernel/memo.ts'
import { maskArgs, maskCommand, maskValues } from '../../kernel/secrets/mask-secrets.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-command.ts'
import { laterDelays, type RestartRules } from '../../kernel/server-plan.ts'
import type { LastError, LastExit } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { ClientDependency } from '../../mcp/protocol/call-options.ts'
import type { Catalogue } from '../shared/catalogues.ts'
import { outgoingOf, programText } from '../shared/definition/outgoing.ts'
import { type Judgement, judge, type Known } from '../shared/judgement.ts'
import { errorView, type Stats } from '../shared/server-fields.ts'
import { tokensOf } from '../shared/tool-view.ts'
import { type Try, tryView } from '../shared/tries.ts'
import { type Engine, type Instance, type ServerLife, sumOf } from './instance-pool.ts'
import { placeOf, shownOptions } from './isolation-settings.ts'
import type { DesiredState, InstanceView, Live, Server, ServerView } from './servers.schema.ts'

/** The stored fields of a server, with secrets masked, as a caller with the token sees them. */
export const definitionOf = memo((server: Server): Omit<ServerView, keyof Live> => {
  const { id, name, package: from, args, env, cwd, description, tags, revision } = server
  const { start_mode, idle_timeout_s, sharing, max_instances, restart, timeouts, tools, expose } = server
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const shown = { args: maskArgs(args), env: maskValues(env), cwd, description, tags: [...tags] }
  const command = maskCommand(server.command)
  const auto_start = start_mode === 'eager'
  const { isolation, isolation_options } = server
  const place = { isolation, isolation_options: shownOptions(isolation_options), place: placeOf(server) }
  const run = { start_mode, auto_start, idle_timeout_s, sharing, max_instances, restart, timeouts }
  const settings = { ...place, ...run, tools, expose, outgoing: [...outgoingOf(server)] }
  return { id, type: 'stdio', name, command, package: from, ...shown, ...settings, ...times, revision }
})

/** The stored fields as a caller without the token sees them, with less of the command. */
const publicDefinitionOf = memo((server: Server): Omit<ServerView, keyof Live> => {
  const { command, args } = server
  const shown = { command: publicCommand(command), args: publicArgs(command, args) }
  const program = programText(shown.command, shown.args)
  const outgoing = outgoingOf(server).map((each) => ({ ...each, program }))
  return { ...definitionOf(server), ...shown, outgoing }
})

/** The values that the current state of a server is shown from, except its uptime, which is different each time. */
export interface Shown
  extends Pick<ServerLife, 'state' | 'restartCount' | 'recentExits' | 'lastError' | 'resources'> {
  readonly isRecent: boolean
  readonly strayLines: number
  readonly listProblem: string | undefined
  readonly listHint: string | null | undefined
  /** The instances that run for one client alone. */
  readonly instances: readonly InstanceView[]
  readonly desired: DesiredState
  readonly catalogue: Catalogue | undefined
  readonly stats: Stats
  readonly linesDropped: number
  readonly usedBy: readonly string[]
  /** A process runs with a secret that has changed since. */
  readonly restartNeeded: boolean
  readonly lastTry: Try | null
  /** What prevents a start, found without one. */
  readonly obstacle: LastError | null
}

/** The part of `Shown` that the shared process shows. */
export function shownLife(life: ServerLife) {
  const { state, restartCount, recentExits, lastError, resources, client, uptimeMs } = life
  const isRecent = (uptimeMs ?? 0) < RECENT_MS
  const { strayLines = 0, listError } = client ?? {}
  const problems = { strayLines, listProblem: listError?.message, listHint: listError?.hint }
  return { state, restartCount, recentExits, lastError, resources, isRecent, ...problems }
}

export const uptimeOf = ({ uptimeMs }: ServerLife): number | null =>
  uptimeMs === null ? null : Math.round(uptimeMs) / 1000

/** The view without the uptime. `isOwner`: the caller has the token. */
export const viewOf = (server: Server, shown: Shown, isOwner: boolean): Omit<ServerView, 'uptime_s'> => ({
  ...(isOwner ? definitionOf(server) : publicDefinitionOf(server)),
  ...liveOf(shown, server.restart),
})

function liveOf(shown: Shown, { max_delay_s }: RestartRules): Omit<Live, 'uptime_s'> {
  const { state, recentExits, catalogue } = shown
  const [lastExit] = recentExits
  const { health, error } = judgeStdio(shown)
  const lastError = AT_REST.includes(state.status) ? error : shown.lastError
  const instances = [...sharedInstance(shown), ...shown.instances]
  return {
    status: state.status,
    desired_state: shown.desired,
    health,
    pid: state.status === 'running' ? state.pid : null,
    started_at: state.status === 'running' ? isoTime(state.started_at) : null,
    restart_count: shown.restartCount,
    next_retry_at: state.status === 'backoff' ? isoTime(state.next_retry_at) : null,
    later_retries_s: state.status === 'backoff' ? laterDelays(state.attempt, max_delay_s) : [],
    last_exit: lastExit ? exitView(lastExit) : null,
    recent_exits: recentExits.map((exit) => ({ ...exitView(exit), ran_s: Math.round(exit.ranMs) / 1000 })),
    last_try: tryView(shown.lastTry),
    last_error: lastError && errorView(lastError),
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    capabilities: catalogue?.capabilities ?? null,
    tool_count: catalogue?.tools.length ?? null,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    resources: sumOf([shown.resources, ...shown.instances.map(({ resources }) => resources)]),
    sharing_reason: sharingReason(catalogue),
    instances,
    stats: shown.stats,
    log_lines_dropped: shown.linesDropped,
    used_by_agents: [...shown.usedBy],
    restart_needed: shown.restartNeeded,
  }
}

/** Their last error is that of the last try, which may be of an earlier run of Toolroom. */
const AT_REST: readonly string[] = ['idle', 'stopped']

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
export function sharedInstance({ state, resources }: Pick<Shown, 'state' | 'resources'>): InstanceView[] {
  if (state.status !== 'running') return []
  const { pid, started_at } = state
  const client = { agent_type: null, session_id: null }
  return [{ id: 'shared', pid, ...client, started_at: isoTime(started_at), resources }]
}

/** The instances that are running. A view is the same object until its process or the resources change. */
export function instanceViews(
  instances: ReadonlyMap<string, Instance>,
  engine: Pick<Engine, 'life'>,
): InstanceView[] {
  const views: InstanceView[] = []
  for (const instance of instances.values()) {
    const { state, resources } = engine.life(instance.id)
    if (state.status !== 'running') continue
    const { pid, started_at } = state
    let view = INSTANCE_VIEWS.get(instance)
    if (view?.pid !== pid || view.resources !== resources) {
      const { number: id, owner } = instance
      const { agentType: agent_type, sessionId: session_id } = owner
      view = { id, pid, agent_type, session_id, started_at: isoTime(started_at), resources }
      INSTANCE_VIEWS.set(instance, view)
    }
    views.push(view)
  }
  return views
}
const INSTANCE_VIEWS = new WeakMap<Instance, InstanceView>()

/** The time after which a restart no longer degrades the health of a server. */
const RECENT_MS = 5 * 60_000

/** Of what is shown, what decides whether it works. */
export type Judged = Pick<
  Shown,
  | 'state'
  | 'restartCount'
  | 'lastError'
  | 'isRecent'
  | 'strayLines'
  | 'listProblem'
  | 'listHint'
  | 'desired'
  | 'catalogue'
  | 'lastTry'
  | 'obstacle'
>

export const judgeStdio = (shown: Judged): Judgement =>
  judge({
    status: shown.state.status,
    error: shown.lastError,
    lastTry: shown.lastTry,
    obstacle: shown.obstacle,
    isWanted: shown.desired === 'running',
    flaw: flawOf(shown),
    toolCount: shown.catalogue?.tools.length ?? null,
  })

function flawOf(shown: Judged): Known['flaw'] {
  const { restartCount, strayLines, listProblem, listHint } = shown
  if (listProblem !== undefined) {
    const summary = `Running, but its tools could not be listed. ${listProblem}`
    const action = `Its list is requested again, and calls work. ${listHint ?? "Check the server's log"}`
    return { summary, action }
  }
  if (strayLines > 0) {
    const lines = strayLines === 1 ? 'a line' : `${strayLines} lines`
    const wrong = strayLines === 1 ? 'is not an MCP message' : 'are not MCP messages'
    const summary = `Running, but it wrote ${lines} to stdout that ${wrong}`
    return { summary, action: 'Make it log to stderr. The lines are in its log' }
  }
  if (restartCount > 0 && shown.isRecent) {
    const times = restartCount === 1 ? 'once' : `${restartCount} times`
    const summary = `Running again after an unexpected exit; restarted ${times}`
    return { summary, action: "Check last_exit and the server's log" }
  }
  return undefined
}
