import { invalidField, pointer } from '../../kernel/errors.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { keptOAuth, maskOAuth } from '../logins/oauth-settings.ts'
import { keepMaskedUrl, keepMaskedValues } from '../shared/masked-values.ts'
import { changedOffer } from '../shared/tool-settings.ts'
import type { HttpServer, HttpServerUpdate } from './http-servers.schema.ts'
import { checkedUrl, isSameOrigin } from './resolve-server-references.ts'

/** The fields of a server after a change of some of them. */
export function edited(current: HttpServer, update: HttpServerUpdate): Partial<HttpServer> {
  const url = update.url === undefined ? current.url : checkedUrl(keepMaskedUrl(update.url, current.url))
  const timeouts = { ...current.timeouts, ...update.timeouts }
  const headers = headersFor(url, update.headers, current)
  const oauth = oauthFor(url, update.oauth, current)
  return { ...update, url, timeouts, headers, oauth, ...changedOffer(current, update) }
}

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
export function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    if (seen.has(name.toLowerCase())) throw invalidField(`/headers/${pointer(name)}`, 'is given twice')
    seen.add(name.toLowerCase())
  }
  return headers
}
