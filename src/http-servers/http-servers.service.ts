import { AppError, invalidField, pointer } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { MASK, maskValues } from '../kernel/secrets/secrets.ts'
import { keepMaskedUrl, keepMaskedValues, originOf } from '../kernel/secrets/write-back.ts'
import type { ToolList } from '../kernel/tool-fields.ts'
import type { Caller } from '../kernel/wire.ts'
import { isBlockedHost } from '../net/blocked-address.ts'
import type { CallResult } from '../protocol/call.ts'
import type { RecordCall } from '../upstreams/calls.ts'
import { offerOver, type Stats } from '../upstreams/server-fields.ts'
import { createRegistry, type ServerStore } from '../upstreams/server-registry.ts'
import { toolListOf } from '../upstreams/tool-view.ts'
import type { ToolCall } from '../upstreams/upstream.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import {
  DEFAULTS,
  type HttpServer,
  type HttpServerInput,
  type HttpServerUpdate,
  type HttpServerView,
} from './http-servers.schema.ts'
import { HttpUpstream } from './http-upstream.ts'
import type { ConnectionReport } from './report.schema.ts'
import { definitionOf, liveOf } from './view.ts'
import { type Connectedness, NEVER_CONNECTED, Watch, type WatchDeps } from './watch.ts'

/** What this room needs. `store/` and `mcp/` provide it, `compose/service.ts` connects them. */
export interface Deps extends WatchDeps {
  readonly statsOf: (id: string) => Stats
  /** The gateway's names of a server's tools, by their own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
  readonly store: ServerStore<HttpServer>
  readonly upstreams: Upstreams
  readonly record: RecordCall
  readonly facts: FactBus
  readonly secrets: KnownSecrets
}

export function createHttpServers(deps: Deps) {
  const { catalogues, upstreams, record } = deps
  const connections = new Map<string, { readonly watch: Watch; readonly upstream: HttpUpstream }>()
  const onStored = (server: HttpServer): void => {
    const known = connections.get(server.id)
    if (known) {
      known.upstream.settings = server
      known.watch.changed(server)
      return
    }
    const watch = new Watch(server, deps)
    const upstream = new HttpUpstream(server, { watch, catalogues, record })
    connections.set(server.id, { watch, upstream })
    upstreams.add(upstream)
  }
  const names = { kind: 'http', noun: 'HTTP server' } as const
  const registry = createRegistry({ ...deps, ...names, shown: definitionOf, onStored })

  function forget(id: string): void {
    connections.get(id)?.watch.close()
    connections.delete(id)
    upstreams.remove(id)
    catalogues.forget(id)
  }

  const connectionOf = (id: string): Connectedness => connections.get(id)?.watch.known ?? NEVER_CONNECTED

  return {
    list: registry.list,
    get: registry.get,

    close(): void {
      for (const { watch } of connections.values()) watch.close()
    },

    /** Call once, before anything else: registers the stored servers. */
    async takeOver(): Promise<void> {
      await registry.load()
    },

    async call(key: string, call: ToolCall): Promise<CallResult> {
      const { id } = await registry.get(key)
      return upstreams.call(id, call)
    },

    async test(key: string): Promise<ConnectionReport> {
      const server = await registry.get(key)
      const startedAt = performance.now()
      const report = await deps.remotes.test(server)
      connections.get(server.id)?.watch.tested(report, performance.now() - startedAt)
      return report
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
      throw new AppError('server_not_running', `The tools of '${server.name}' are not known yet${why}`, {
        hint,
      })
    },

    view(server: HttpServer): HttpServerView {
      const catalogue = catalogues.of(server.id)
      return {
        ...definitionOf(server),
        ...liveOf(connectionOf(server.id), catalogue, deps.statsOf(server.id)),
      }
    },

    async remove(key: string, by: Caller): Promise<void> {
      await registry.remove(key, by, forget)
    },

    async add({ type: _, ...input }: HttpServerInput, by: Caller): Promise<HttpServer> {
      const { name, transport = 'auto', headers = {}, tags = [], enabled = DEFAULTS.enabled } = input
      const timeouts = { ...DEFAULTS.timeouts, ...input.timeouts }
      const url = checkedUrl(keepMaskedUrl(input.url, undefined))
      const kept = checkedHeaders(keepMaskedValues('headers', headers, {}))
      const fields = { name, url, transport, headers: kept, tags, enabled, timeouts }
      return registry.add({ ...fields, ...offerOver(DEFAULTS, input) }, by)
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
        return { ...update, url, timeouts, headers, ...offerOver(current, update) }
      }
      return registry.change(key, revision, edit, by)
    },
  }
}
export type HttpServers = ReturnType<typeof createHttpServers>

/** Secrets are sent only to the origin they were saved for. When the origin changes, the headers must be sent again. */
function headersFor(
  url: string,
  given: HttpServerUpdate['headers'],
  current: HttpServer,
): Record<string, string> {
  const moved = originOf(url) !== originOf(current.url)
  const wanted = given ?? (moved ? maskValues(current.headers) : current.headers)
  const keeps = Object.entries(wanted).find(([, value]) => value === MASK)
  if (moved && keeps) {
    const message = 'is a secret of the old origin, which is not sent to the new one'
    throw invalidField(`/headers/${pointer(keeps[0])}`, message, 'Send the headers in full, or {} for none')
  }
  return checkedHeaders(keepMaskedValues('headers', wanted, current.headers))
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url)) throw invalidField('/url', 'is not a valid URL')
  const { hostname, username, password } = new URL(url)
  if (username || password)
    throw invalidField('/url', 'must not contain a user name or password', 'Use a header instead')
  if (isBlockedHost(hostname)) {
    throw new AppError(
      'blocked_address',
      `The address ${hostname} is link-local or a cloud metadata service`,
      {
        errors: [{ path: '/url', message: 'must not point to a link-local or metadata address' }],
      },
    )
  }
  return url
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
