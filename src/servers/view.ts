import { memo } from '../kernel/memo.ts'
import { maskArgs, maskValues } from '../kernel/secrets/secrets.ts'
import { isoTime } from '../kernel/time.ts'
import type { Catalogue } from '../upstreams/catalogues.ts'
import type { Stats } from '../upstreams/server-fields.ts'
import { tokensOf } from '../upstreams/tool-view.ts'
import type { ServerLife } from './engine.ts'
import { healthOf } from './health.ts'
import type { DesiredState, Live } from './live.schema.ts'
import type { Server, ServerView } from './servers.schema.ts'

/** What was written of a server, as anybody may see it. */
export const definitionOf = memo((server: Server): Omit<ServerView, keyof Live> => {
  const { id, name, command, package: from, args, env, cwd, description, tags, revision } = server
  const { start_mode, idle_timeout_s, restart, timeouts, tools, expose } = server
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const shown = { args: maskArgs(args), env: maskValues(env), cwd, description, tags: [...tags] }
  const auto_start = start_mode === 'eager'
  const settings = { start_mode, auto_start, idle_timeout_s, restart, timeouts, tools, expose }
  return { id, type: 'stdio', name, command, package: from, ...shown, ...settings, ...times, revision }
})

interface Now {
  readonly life: ServerLife
  readonly desired: DesiredState
  readonly catalogue: Catalogue | undefined
  readonly stats: Stats
  readonly linesDropped: number
  readonly usedBy: string[]
}

/** What is true of it now. */
export function liveOf({ life, desired, catalogue, stats, linesDropped, usedBy }: Now): Live {
  const { state, restartCount, lastExit, lastError, uptimeMs, resources } = life
  const toolCount = catalogue?.tools.length ?? null
  const strayLines = life.conversation?.strayLines ?? 0
  return {
    status: state.status,
    desired_state: desired,
    health: healthOf({ state, lastError, toolCount, restartCount, uptimeMs, strayLines }),
    pid: state.status === 'running' ? state.pid : null,
    started_at: state.status === 'running' ? isoTime(state.started_at) : null,
    uptime_s: uptimeMs === null ? null : Math.round(uptimeMs) / 1000,
    restart_count: restartCount,
    next_retry_at: state.status === 'backoff' ? isoTime(state.next_retry_at) : null,
    last_exit: lastExit && {
      ...lastExit,
      at: isoTime(lastExit.at),
      stderr_tail: [...lastExit.stderr_tail],
    },
    last_error: lastError && { ...lastError },
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    capabilities: catalogue?.capabilities ?? null,
    tool_count: toolCount,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    resources: resources && { ...resources },
    stats,
    log_lines_dropped: linesDropped,
    used_by_agents: usedBy,
  }
}
