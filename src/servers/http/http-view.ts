import { memo } from '../../kernel/memo.ts'
import { maskUrl, maskValues } from '../../kernel/secrets/mask-secrets.ts'
import { isoTime } from '../../kernel/time.ts'
import type { AuthView } from '../logins/logins.schema.ts'
import { maskOAuth } from '../logins/oauth-settings.ts'
import type { Catalogue } from '../shared/catalogues.ts'
import { errorView, type Health, type Stats } from '../shared/server-fields.ts'
import { tokensOf } from '../shared/tool-view.ts'
import type { ConnectionState } from './connection-watch.ts'
import type { HttpServer, HttpServerView, Live } from './http-servers.schema.ts'

/** The stored fields of a server, with secrets masked. */
export const definitionOf = memo((server: HttpServer): Omit<HttpServerView, keyof Live> => {
  const { id, name, transport, tags, enabled, timeouts, tools, expose, revision } = server
  const shown = { url: maskUrl(server.url), transport, headers: maskValues(server.headers), tags: [...tags] }
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const oauth = server.oauth && maskOAuth(server.oauth)
  return { id, type: 'http', name, ...shown, enabled, timeouts, oauth, tools, expose, ...times, revision }
})

/** The values that the current state of a server is shown from. */
export interface Shown {
  readonly connection: ConnectionState
  readonly catalogue: Catalogue | undefined
  readonly stats: Stats
  readonly usedBy: readonly string[]
  readonly auth: AuthView
}

export const viewOf = (server: HttpServer, shown: Shown): HttpServerView => ({
  ...definitionOf(server),
  ...liveOf(shown),
})

function liveOf({ connection, catalogue, stats, usedBy, auth }: Shown): Live {
  const { status, latencyMs, checkedAt, nextCheckAt, lastError } = connection
  const tool_count = catalogue?.tools.length ?? null
  return {
    status,
    health: healthOf(connection, tool_count),
    auth,
    latency_ms: latencyMs,
    last_checked_at: checkedAt === null ? null : isoTime(checkedAt),
    next_check_at: nextCheckAt === null ? null : isoTime(nextCheckAt),
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    tool_count,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    stats,
    used_by_agents: [...usedBy],
    last_error: lastError && errorView(lastError),
  }
}

function healthOf({ status, lastError }: ConnectionState, tools: number | null): Health {
  const action = lastError?.hint ?? null
  switch (status) {
    case 'connected': {
      const summary = `Connected with ${tools ?? 0} ${tools === 1 ? 'tool' : 'tools'}`
      return { level: 'healthy', summary, action: null }
    }
    case 'unknown':
      return { level: 'unknown', summary: 'Not checked yet', action: null }
    case 'disabled':
      return { level: 'unknown', summary: 'Disabled', action: null }
    case 'degraded':
      return { level: 'degraded', summary: `The last check failed: ${lastError?.message}`, action }
    case 'auth_required':
    case 'unreachable':
    case 'error':
      return { level: 'unhealthy', summary: lastError?.message ?? status, action }
  }
}
