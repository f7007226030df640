import { memo } from '../../kernel/memo.ts'
import { maskUrl, maskValues } from '../../kernel/secrets/mask-secrets.ts'
import type { LastError } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { AuthView } from '../logins/logins.schema.ts'
import { maskOAuth } from '../logins/oauth-settings.ts'
import type { Catalogue } from '../shared/catalogues.ts'
import { outgoingOf } from '../shared/definition/outgoing.ts'
import { type Judgement, judge } from '../shared/judgement.ts'
import { errorView, type Stats } from '../shared/server-fields.ts'
import { tokensOf } from '../shared/tool-view.ts'
import { type Try, tryView } from '../shared/tries.ts'
import type { ConnectionState } from './connection-watch.ts'
import type { HttpServer, HttpServerView, Live } from './http-servers.schema.ts'

/** The stored fields of a server, with secrets masked. */
export const definitionOf = memo((server: HttpServer): Omit<HttpServerView, keyof Live> => {
  const { id, name, transport, tags, enabled, timeouts, tools, expose, revision } = server
  const shown = { url: maskUrl(server.url), transport, headers: maskValues(server.headers), tags: [...tags] }
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  const oauth = server.oauth && maskOAuth(server.oauth)
  const outgoing = [...outgoingOf(server)]
  const offer = { tools, expose, outgoing }
  return { id, type: 'http', name, ...shown, enabled, timeouts, oauth, ...offer, ...times, revision }
})

/** The values that the current state of a server is shown from. */
export interface Shown {
  readonly connection: ConnectionState
  readonly catalogue: Catalogue | undefined
  readonly stats: Stats
  readonly usedBy: readonly string[]
  readonly auth: AuthView
  readonly lastTry: Try | null
  /** A variable or a secret that it refers to is not set. */
  readonly obstacle: LastError | null
}

export const viewOf = (server: HttpServer, shown: Shown): HttpServerView => ({
  ...definitionOf(server),
  ...liveOf(shown),
})

function liveOf({ connection, catalogue, stats, usedBy, auth, lastTry, obstacle }: Shown): Live {
  const { status, latencyMs, checkedAt, nextCheckAt, lastError } = connection
  const { health, error } = judgeHttp({ connection, catalogue, lastTry, obstacle })
  const shownError = lastError ?? error
  return {
    status,
    health,
    auth,
    latency_ms: latencyMs,
    last_try: tryView(lastTry),
    last_checked_at: checkedAt === null ? null : isoTime(checkedAt),
    next_check_at: nextCheckAt === null ? null : isoTime(nextCheckAt),
    protocol_version: catalogue?.protocol_version ?? null,
    server_info: catalogue?.server_info ?? null,
    tool_count: catalogue?.tools.length ?? null,
    tool_tokens: catalogue ? tokensOf(catalogue) : null,
    stats,
    used_by_agents: [...usedBy],
    last_error: shownError && errorView(shownError),
  }
}

export const judgeHttp = ({
  connection: { status, lastError },
  catalogue,
  lastTry,
  obstacle,
}: Pick<Shown, 'connection' | 'catalogue' | 'lastTry' | 'obstacle'>): Judgement =>
  judge({
    status,
    error: lastError,
    lastTry,
    obstacle,
    isWanted: true,
    flaw: undefined,
    toolCount: catalogue?.tools.length ?? null,
  })
