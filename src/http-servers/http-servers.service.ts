import { AppError, invalidField, pointer } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import { MASK, maskValues } from '../kernel/secrets/secrets.ts'
import { keepMaskedUrl, keepMaskedValues, originOf } from '../kernel/secrets/write-back.ts'
import type { Caller } from '../kernel/wire.ts'
import { isBlockedHost } from '../net/blocked-address.ts'
import { offerOver, type Stats } from '../upstreams/server-fields.ts'
import { createRegistry, type ServerStore } from '../upstreams/server-registry.ts'
import { createReaching } from './http-calls.ts'
import {
  DEFAULTS,
  type HttpServer,
  type HttpServerInput,
  type HttpServerUpdate,
  type HttpServerView,
} from './http-servers.schema.ts'
import { definitionOf, liveOf } from './view.ts'
import type { WatchDeps } from './watch.ts'

/** What this room needs from the house. `store/` provides it, `service.ts` plugs it in. */
export interface Deps extends WatchDeps {
  readonly statsOf: (id: string) => Stats
  /** What the gateway calls the tools that it offers of a server, by their own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
  readonly store: ServerStore<HttpServer>
  readonly facts: FactBus
  readonly secrets: KnownSecrets
}

export function createHttpServers(deps: Deps) {
  const registry = createRegistry({ ...deps, kind: 'http', noun: 'HTTP server', shown: definitionOf })
  const reaching = createReaching({ ...deps, get: registry.get })

  return {
    list: registry.list,
    get: registry.get,
    test: reaching.test,
    tools: reaching.tools,
    call: reaching.call,
    relay: reaching.relay,
    statuses: reaching.statuses,
    states: reaching.states,
    close: reaching.close,

    /** Call once, before anything else: what is stored becomes known to everybody who looks after it. */
    async takeOver(): Promise<void> {
      await registry.rememberSecrets()
      for (const server of await registry.list()) reaching.watch(server)
    },

    view(server: HttpServer): HttpServerView {
      const catalogue = deps.catalogues.of(server.id)
      return {
        ...definitionOf(server),
        ...liveOf(reaching.known(server.id), catalogue, deps.statsOf(server.id)),
      }
    },

    async remove(key: string, by: Caller): Promise<void> {
      await registry.remove(key, by, (id) => reaching.forget(id))
    },

    async add({ type: _, ...input }: HttpServerInput, by: Caller): Promise<HttpServer> {
      const { name, transport = 'auto', headers = {}, tags = [], enabled = DEFAULTS.enabled } = input
      const timeouts = { ...DEFAULTS.timeouts, ...input.timeouts }
      const url = checkedUrl(keepMaskedUrl(input.url, undefined))
      const kept = checkedHeaders(keepMaskedValues('headers', headers, {}))
      const fields = { name, url, transport, headers: kept, tags, enabled, timeouts }
      const server = await registry.add({ ...fields, ...offerOver(DEFAULTS, input) }, by)
      reaching.watch(server)
      return server
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
      const server = await registry.change(key, revision, edit, by)
      reaching.watch(server)
      return server
    },
  }
}
export type HttpServers = ReturnType<typeof createHttpServers>

/** Secrets go only to the origin they were saved for: who moves the URL elsewhere must send the headers anew. */
function headersFor(
  url: string,
  given: HttpServerUpdate['headers'],
  current: HttpServer,
): Record<string, string> {
  const moved = originOf(url) !== originOf(current.url)
  const wanted = given ?? (moved ? maskValues(current.headers) : current.headers)
  const keeps = Object.entries(wanted).find(([, value]) => value === MASK)
  if (moved && keeps) {
    const message = 'is a secret of the old origin and is not sent to the new one'
    throw invalidField(`/headers/${pointer(keeps[0])}`, message, 'Send the headers in full, or {} for none')
  }
  return checkedHeaders(keepMaskedValues('headers', wanted, current.headers))
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url)) throw invalidField('/url', 'is no valid URL')
  const { hostname, username, password } = new URL(url)
  if (username || password)
    throw invalidField('/url', 'must not hold a user name or password', 'Use a header instead')
  if (isBlockedHost(hostname)) {
    throw new AppError(
      'blocked_address',
      `The address ${hostname} is link-local or a cloud's metadata service`,
      {
        errors: [{ path: '/url', message: 'must not point to a link-local or metadata address' }],
      },
    )
  }
  return url
}

/** `Authorization` and `authorization` are one header: which of the two would be sent? */
function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    if (seen.has(name.toLowerCase())) throw invalidField(`/headers/${pointer(name)}`, 'is given twice')
    seen.add(name.toLowerCase())
  }
  return headers
}
