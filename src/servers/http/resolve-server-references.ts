import { AppError, invalidField } from '../../kernel/errors.ts'
import { isReference, parseReferences, resolveReferences } from '../../kernel/secrets/references.ts'
import type { LastError } from '../../kernel/server-state.ts'
import { isBlockedHost } from '../../net/blocked-address.ts'
import type { LoginServer } from '../logins/login-record.ts'
import type { References } from '../shared/definition/resolved-references.ts'
import { originOf } from '../shared/masked-values.ts'
import { SettingFailure } from './connection-failure.ts'
import type { HttpServer } from './http-servers.schema.ts'

type Referring = Pick<HttpServer, 'id' | 'url' | 'headers' | 'outgoing_allowed'>

/** The server with its references resolved. Throws a SettingFailure. */
export function resolveServer<T extends Referring>(server: T, references: References): T {
  const resolved = references.resolve(server.id, server)
  if (!resolved.ok) throw new SettingFailure(resolved.error)
  const { url, headers } = resolved.definition
  assertHeaders(headers)
  if (url !== server.url) assertUrl(url)
  return resolved.definition
}

/** Why a server cannot be reached, without a connection: a reference has no value, or one that does not fit. */
export function obstacleOf(server: Referring, references: References): LastError | null {
  try {
    resolveServer(server, references)
    return null
  } catch (error) {
    if (!(error instanceof SettingFailure)) throw error
    const { code, message, hint, action } = error
    return { code, message, hint, action }
  }
}

function assertUrl(url: string): void {
  try {
    checkUrl(url, false)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message = `With the values of its references, ${error.message}`
    const hint = 'Correct the variables and secrets that the url refers to'
    throw new SettingFailure({ code: 'invalid_setting', message, hint, action: { kind: 'edit_url' } })
  }
}

/** One line of Latin-1 characters, as in the schema. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

function assertHeaders(headers: HttpServer['headers']): void {
  const invalid = Object.keys(headers).find((name) => !HEADER_VALUE.test(headers[name] ?? ''))
  if (invalid === undefined) return
  const message = `The value of the header ${invalid} is not one line of Latin-1 characters once it is resolved`
  const hint = 'Correct the variables and secrets that it refers to'
  throw new SettingFailure({ code: 'invalid_setting', message, hint, action: { kind: 'edit_headers' } })
}

/** A URL as it is stored. Where it has references, the rest is checked, and all of it when it is used. */
export function checkedUrl(url: string): string {
  const refers = parseReferences(url).some(isReference)
  checkUrl(refers ? sampleOf(url) : url, refers)
  return url
}

function checkUrl(url: string, isSample: boolean): void {
  if (!URL.canParse(url)) throw invalidField('/url', 'is not a valid URL')
  const { protocol, hostname, username, password } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw invalidField('/url', 'must be an http or https URL')
  if (username || password)
    throw invalidField('/url', 'must not contain a user name or password', 'Use a header instead')
  if (!isSample && isBlockedHost(hostname)) {
    const message = `The address ${hostname} is link-local or a cloud metadata service`
    const errors = [{ path: '/url', message: 'must not point to a link-local or metadata address' }]
    throw new AppError('blocked_address', message, { errors })
  }
}

/** The URL with its fallbacks, and where there is none with a value that fits a scheme and host, a host, a port or a path. */
function sampleOf(url: string): string {
  let isFirst = url.startsWith('${')
  const result = resolveReferences(url, ({ fallback }) => {
    const value = fallback ?? (isFirst ? 'https://1' : '1')
    isFirst = false
    return value
  })
  return 'text' in result ? result.text : url
}

/** Whether a secret for one URL may be sent to the other. Where a URL has references, its origin is not known. */
export function isSameOrigin(one: string, other: string): boolean {
  if (one === other) return true
  const refers = [one, other].some((url) => parseReferences(url).some(isReference))
  return !refers && originOf(one) !== undefined && originOf(one) === originOf(other)
}

/** The server as logins see it. */
export const loginServerOf = ({ id, name, url, headers, oauth }: HttpServer): LoginServer => ({
  id,
  name,
  url,
  oauth: oauth ?? undefined,
  hasHeader: Object.keys(headers).some((header) => header.toLowerCase() === 'authorization'),
})
