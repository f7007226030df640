import { isBlockedHost } from '../kernel/blocked-address.ts'
import { AppError, invalidField, pointer } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import type { KnownSecrets } from '../kernel/known-secrets.ts'
import { memo } from '../kernel/memo.ts'
import { createRegistry, type ServerStore } from '../kernel/registry.ts'
import { MASK, maskUrl, maskValues } from '../kernel/secrets.ts'
import { isoTime } from '../kernel/time.ts'
import type { Caller } from '../kernel/wire.ts'
import { keepMaskedUrl, keepMaskedValues, originOf } from '../kernel/write-back.ts'
import type { HttpServer, HttpServerInput, HttpServerUpdate, HttpServerView } from './http-servers.schema.ts'

/** What this room needs from the house. `store/` provides it, `service.ts` plugs it in. */
export interface Deps {
  readonly store: ServerStore<HttpServer>
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly now: () => number
}

export function createHttpServers(deps: Deps) {
  const registry = createRegistry({ ...deps, kind: 'http', noun: 'HTTP server', shown: viewOf })

  return {
    list: registry.list,
    get: registry.get,
    remove: registry.remove,
    rememberSecrets: registry.rememberSecrets,

    async add({ type: _, ...input }: HttpServerInput, by: Caller): Promise<HttpServer> {
      const { name, transport = 'auto', headers = {}, tags = [] } = input
      const url = checkedUrl(keepMaskedUrl(input.url, undefined))
      return registry.add(
        { name, url, transport, headers: checkedHeaders(keepMaskedValues('headers', headers, {})), tags },
        by,
      )
    },

    change(
      key: string,
      revision: number | 'unknown' | undefined,
      update: HttpServerUpdate,
      by: Caller,
    ): Promise<HttpServer> {
      const edit = (current: HttpServer): Partial<HttpServer> => {
        const url =
          update.url === undefined ? current.url : checkedUrl(keepMaskedUrl(update.url, current.url))
        return { ...update, url, headers: headersFor(url, update.headers, current) }
      }
      return registry.change(key, revision, edit, by)
    },
  }
}
export type HttpServers = ReturnType<typeof createHttpServers>

/** A server as anybody may see it. */
export const viewOf = memo((server: HttpServer): HttpServerView => {
  const { id, name, transport, tags, revision } = server
  const shown = { url: maskUrl(server.url), transport, headers: maskValues(server.headers), tags: [...tags] }
  const times = { created_at: isoTime(server.created_at), updated_at: isoTime(server.updated_at) }
  return { id, type: 'http', name, ...shown, ...times, revision }
})

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
