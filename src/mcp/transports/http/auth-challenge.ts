import { printableLine } from '../../../kernel/secrets/printable-line.ts'
import type { AuthDetail } from '../../../net/http-failure.ts'

const NAMES = ['realm', 'scope', 'error', 'resource_metadata'] as const
const MAX_HEADER_CHARS = 8192
const MAX_CHARS = 500
const SCHEME = /^\s*([A-Za-z][\w-]{0,30})(?=\s|,|$)/
const PARAMETER = /([a-z_]{1,40})\s{0,4}=\s{0,4}(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi

/** The first challenge of a WWW-Authenticate header: its scheme, and the parameters that we use. */
export function challengeIn(header: string | undefined): AuthDetail | undefined {
  const text = header?.slice(0, MAX_HEADER_CHARS) ?? ''
  const scheme = SCHEME.exec(text)?.[1]
  if (scheme === undefined) return undefined
  const found: { [name in (typeof NAMES)[number]]?: string } = {}
  for (const [, key = '', quoted, bare] of text.matchAll(PARAMETER)) {
    const name = NAMES.find((each) => each === key.toLowerCase())
    const value = printableLine(quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '', MAX_CHARS)
    if (name !== undefined && value !== undefined) found[name] ??= value
  }
  return { scheme, ...found }
}
