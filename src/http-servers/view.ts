import { memo } from '../kernel/memo.ts'
import { maskUrl, maskValues } from '../kernel/secrets/secrets.ts'
import { isoTime } from '../kernel/time.ts'
import type { Catalogue } from '../upstreams/catalogues.ts'
import type { Stats } from '../upstreams/server-fields.ts'
import { tokensOf } from '../upstreams/tool-view.ts'
import type { HttpServer, HttpServerView } from './http-servers.schema.ts'
import type { Health, Live } from './report.schema.ts'
import type { Connectedness } from './watch.ts'

/** What was written of a server, as anybody may see it. */
export const definitionOf = memo((server: HttpServer): Omit<HttpServerView, keyof Live> => {
  const { id, name, transport, tags, enabled, timeouts, tools, expose, revision } = server
  const shown = { url: maskUrl(server.url), transport, headers: maskValues(server.headers), tags: [...tags] }
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  return { id, type: 'http', name, ...shown, enabled, timeouts, tools, expose, ...times, revision }
})

/** What is true of it now. */
export function liveOf(known: Connectedness, catalogue: Catalogue | undefined, stats: Stats): Live {
  const { status, latencyMs, checkedAt, nextCheckAt, lastError } = known
  const tool_count = catalogue?.tools.length ?? null
  return {
    status,
    health: healthOf(known, tool_count),
    latency_ms: latencyMs,
    last_checked_at: checkedAt === null ? null : isoTime(checkedAt),
    next_check_at: nextCheckAt === null ? null : isoTime(nextCheckAt),
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    tool_count,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    stats,
    last_error: lastError && { code: lastError.code, message: lastError.message, hint: lastError.hint },
  }
}

function healthOf({ status, lastError }: Connectedness, tools: number | null): Health {
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
      return { level: 'degraded', summary: `It was there, but: ${lastError?.message}`, action }
    case 'auth_required':
    case 'unreachable':
    case 'error':
      return { level: 'unhealthy', summary: lastError?.message ?? status, action }
  }
}
