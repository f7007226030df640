import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import { maskOAuth } from '../../kernel/secrets/mask-oauth.ts'
import { MASK } from '../../kernel/secrets/secrets.ts'
import { keepMaskedUrl, keepMaskedValues } from '../../kernel/secrets/write-back.ts'
import type { ToolList } from '../../kernel/tool-fields.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { LoginProblem, LoginServer } from '../logins/login-record.ts'
import { keptOAuth } from '../logins/oauth-input.schema.ts'
import type { Diagnosis } from '../shared/diagnosis.ts'
import { changedOffer, type Stats } from '../shared/server-fields.ts'
import { createRegistry, type RegistryDeps } from '../shared/server-registry.ts'
import { toolListOf } from '../shared/tool-view.ts'
import { listText, ViewTexts } from '../shared/view-texts.ts'
import {
  type ConnectionState,
  ConnectionWatch,
  type ConnectionWatchDeps,
  NEVER_CONNECTED,
} from './connection-watch.ts'
import { diagnosisOf } from './diagnose.ts'
import {
  DEFAULTS,
  type HttpServer,
  type HttpServerInput,
  type HttpServerUpdate,
  type HttpServerView,
} from './http-servers.schema.ts'
import { HttpUpstream } from './http-upstream.ts'
import type { LoginPort } from './login-wait.ts'
import type { ConnectionReport } from './report.schema.ts'
import { checkedUrl, isSameOrigin, loginServerOf, resolveServer, SettingFailure } from './resolve-server.ts'
import { definitionOf, liveOf } from './view.ts'

/** What this room needs. `store/` and `mcp/` provide it, `compose/service.ts` connects them. */
interface Deps extends RegistryDeps<HttpServer>, ConnectionWatchDeps {
  readonly statsOf: (id: string) => Stats
  readonly logins: ConnectionWatchDeps['logins'] & LoginPort
  /** The names that the gateway gives a server's tools, by the tools' own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
}

export function createHttpServers(deps: Deps) {
  const { catalogues, calls } = deps
  const watches = new Map<string, ConnectionWatch>()
  /** Servers whose login may end. */
  const loggedIn = new Set<string>()
  const registry = createRegistry(deps, {
    kind: 'http',
    noun: 'HTTP server',
    shown: definitionOf,
    upstreamFor: (server: HttpServer) => {
      const watch = new ConnectionWatch(server, deps)
      watches.set(server.id, watch)
      return new HttpUpstream(server, { watch, catalogues, calls, logins: deps.logins })
    },
  })

  function forget(id: string): void {
    loggedIn.delete(id)
    watches.get(id)?.close()
    watches.delete(id)
  }

  async function testOf(server: HttpServer): Promise<ConnectionReport> {
    try {
      const resolved = resolveServer(server, deps.references)
      return await deps.remotes.test(resolved, deps.logins.authorizerFor(loginServerOf(resolved)))
    } catch (error) {
      if (!(error instanceof SettingFailure)) throw error
      const { code, message, hint } = error
      return { ...NOT_TESTED, error: { code, message, hint } }
    }
  }

  const unsubscribe = [
    deps.facts.on('secret_changed', ({ name }) => {
      for (const watch of watches.values()) watch.secretChanged(name)
    }),
    deps.facts.on('http_server_login', ({ server_id, state }) => {
      const isOver = loggedIn.has(server_id) && OVER.includes(state)
      if (state === 'logged_in') loggedIn.add(server_id)
      else if (isOver) {
        loggedIn.delete(server_id)
        void watches.get(server_id)?.loginEnded()
      }
    }),
  ]

  async function test(server: HttpServer): Promise<ConnectionReport> {
    const startedAt = performance.now()
    const report = await testOf(server)
    watches.get(server.id)?.tested(report, performance.now() - startedAt)
    return report
  }

  const connectionOf = (id: string): ConnectionState => watches.get(id)?.state ?? NEVER_CONNECTED
  const texts = new ViewTexts<HttpServer>()
  const shownOf = ({ id }: HttpServer) =>
    [connectionOf(id), catalogues.of(id), deps.statsOf(id), deps.logins.stateOf(id)] as const
  const viewOf = (server: HttpServer, shown: ReturnType<typeof shownOf>) => ({
    ...definitionOf(server),
    ...liveOf(...shown),
  })

  return {
    list: registry.list,
    get: registry.get,
    call: registry.call,
    async load(): Promise<void> {
      for (const { id } of await registry.load())
        if (deps.logins.stateOf(id).state === 'logged_in') loggedIn.add(id)
    },
    remove: (key: string, by: Caller) => registry.remove(key, by, forget),

    close(): void {
      for (const end of unsubscribe) end()
      for (const watch of watches.values()) watch.close()
    },

    /** The server as logins see it. Throws when a setting that it refers to is missing. */
    async loginServer(key: string): Promise<LoginServer> {
      return loginServerOf(resolveServer(await registry.get(key), deps.references))
    },

    storedLogin: (id: string): LoginServer | undefined => {
      const server = watches.get(id)?.server
      return server && loginServerOf(server)
    },

    /** Connects again after a login. */
    async connectAfterLogin(id: string): Promise<{ tools: number | null; problem: LoginProblem | null }> {
      const state = await watches.get(id)?.loginChanged()
      const tools = catalogues.of(id)?.tools.length ?? null
      const error = state?.lastError
      if (!error) return { tools, problem: null }
      return { tools: null, problem: { code: error.code, message: error.message, hint: error.hint } }
    },

    reveal: registry.reveal,
    test: async (key: string): Promise<ConnectionReport> => test(await registry.get(key)),

    async diagnose(key: string): Promise<Diagnosis> {
      const server = await registry.get(key)
      return diagnosisOf(server, await test(server))
    },

    async tools(key: string): Promise<ToolList> {
      const server = await registry.get(key)
      const catalogue = catalogues.of(server.id)
      const { status, lastError } = connectionOf(server.id)
      const source = status === 'connected' ? 'live' : 'cache'
      const [names, held] = [deps.gatewayNames(server.id), catalogues.held(server.id)]
      if (catalogue) return toolListOf(catalogue, source, { settings: server, names, held })
      const why = lastError ? `: ${lastError.message}` : ''
      const hint = lastError?.hint ?? 'Test its connection first'
      const message = `The tools of '${server.name}' are not known yet${why}`
      throw new AppError('server_not_running', message, { hint })
    },

    view: (server: HttpServer): HttpServerView => viewOf(server, shownOf(server)),

    /** All views as JSON. */
    async listText(): Promise<string> {
      const items = (await registry.list()).map((server) => {
        const shown = shownOf(server)
        return texts.textOf(server, shown, () => viewOf(server, shown))
      })
      return listText(items)
    },

    async add({ type: _, ...input }: HttpServerInput, by: Caller): Promise<HttpServer> {
      const { name, transport = 'auto', headers = {}, tags = [], enabled = DEFAULTS.enabled } = input
      const timeouts = { ...DEFAULTS.timeouts, ...input.timeouts }
      const url = checkedUrl(keepMaskedUrl(input.url, undefined))
      const kept = checkedHeaders(keepMaskedValues('headers', headers, {}))
      const oauth = input.oauth ? keptOAuth(input.oauth, undefined, false) : null
      const fields = { name, url, transport, headers: kept, tags, enabled, timeouts, oauth }
      return registry.add({ ...fields, ...changedOffer(DEFAULTS, input) }, by)
    },

    async change(
      key: string,
      revision: number | 'unknown' | undefined,
      update: HttpServerUpdate,
      by: Caller,
    ): Promise<HttpServer> {
      const edit = (current: HttpServer): Partial<HttpServer> => {
        const url =
          update.url === undefined ? current.url : checkedUrl(keepMaskedUrl(update.url, current.url))
        const timeouts = { ...current.timeouts, ...update.timeouts }
        const headers = headersFor(url, update.headers, current)
        const oauth = oauthFor(url, update.oauth, current)
        return { ...update, url, timeouts, headers, oauth, ...changedOffer(current, update) }
      }
      return registry.change(key, revision, edit, by)
    },
  }
}
/** States without a token. */
const OVER = ['none', 'expired', 'refused']

const NOT_TESTED: Omit<ConnectionReport, 'error'> = {
  ok: false,
  latency_ms: null,
  steps: [],
  transport: null,
  protocol_version: null,
  server_info: null,
  tool_count: null,
}

export type HttpServers = ReturnType<typeof createHttpServers>

/** Secrets are sent only to the origin they were saved for. When the origin changes, the headers must be sent again. */
function headersFor(
  url: string,
  given: HttpServerUpdate['headers'],
  current: HttpServer,
): Record<string, string> {
  const moved = !isSameOrigin(url, current.url)
  const masked = () => Object.fromEntries(Object.keys(current.headers).map((name) => [name, MASK]))
  const next = given ?? (moved ? masked() : current.headers)
  const kept = Object.entries(next).find(([, value]) => value === MASK)
  if (moved && kept) {
    const message = 'is a secret for the old origin, which is not sent to the new one'
    throw invalidField(`/headers/${pointer(kept[0])}`, message, 'Send the headers in full, or {} for none')
  }
  return checkedHeaders(keepMaskedValues('headers', next, current.headers))
}

/** Its secrets stay at the origin they were saved for, too. */
function oauthFor(url: string, given: HttpServerUpdate['oauth'], current: HttpServer): HttpServer['oauth'] {
  if (given === null) return null
  const moved = !isSameOrigin(url, current.url)
  const next = given ?? (current.oauth && moved ? maskOAuth(current.oauth) : current.oauth)
  return next && keptOAuth(next, current.oauth ?? undefined, moved)
}

/** Header names are case-insensitive, so `Authorization` beside `authorization` would be ambiguous. */
function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    if (seen.has(name.toLowerCase())) throw invalidField(`/headers/${pointer(name)}`, 'is given twice')
    seen.add(name.toLowerCase())
  }
  return headers
}
