/**
 * References in a server's definition: `${env:NAME}` is a variable of Toolroom's own environment, `${secret:NAME}` a
 * named secret. `:-text` before the closing brace is used when there is no value. `$${` is the text `${`. Everything
 * else is text, also `${NAME}`.
 */
export interface Reference {
  readonly kind: 'env' | 'secret'
  readonly name: string
  /** Null: none. */
  readonly fallback: string | null
}

/** Undefined: not set. */
export type LookUp = (reference: Reference) => string | undefined

const NAME = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
/** The name of an environment variable or a secret that can be referred to. */
export const NAME_PATTERN = `^${NAME}$`

/** No part contains the beginning of another one, so the time is linear. */
const TOKENS = new RegExp(`\\$\\$\\{|\\$\\{(env|secret):(?:(${NAME})(?::-([^{}]*))?\\})?`, 'g')

/** A text in parts: text without escapes, references, and beginnings of references that have no valid name or end. */
export type Part = string | Reference | { readonly malformed: string }

export function parseReferences(text: string): Part[] {
  if (!text.includes('${')) return text === '' ? [] : [text]
  const parts: Part[] = []
  let done = 0
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > done) parts.push(text.slice(done, match.index))
    parts.push(partOf(match))
    done = match.index + match[0].length
  }
  if (done < text.length) parts.push(text.slice(done))
  return parts
}

function partOf([token, kind, name, fallback]: RegExpExecArray | RegExpMatchArray): Part {
  if (kind !== 'env' && kind !== 'secret') return '${'
  return name === undefined ? { malformed: token } : { kind, name, fallback: fallback ?? null }
}

/** The text with its values, or the first reference that has none. An empty variable counts as set without `:-`. */
export function resolveReferences(
  text: string,
  lookUp: LookUp,
): { readonly text: string } | { readonly missing: Reference } {
  let resolved = ''
  for (const part of parseReferences(text)) {
    if (typeof part === 'string') resolved += part
    else if ('malformed' in part) resolved += part.malformed
    else {
      const value = lookUp(part)
      const found = part.fallback === null ? value : value || part.fallback
      if (found === undefined) return { missing: part }
      resolved += found
    }
  }
  return { text: resolved }
}

export const isReference = (part: Part): part is Reference => typeof part === 'object' && 'kind' in part

/** The whole text is one reference without a fallback, which could be a secret. Then it may be shown. */
export const isOnlyReference = (text: string): boolean => ONLY.test(text)
const ONLY = new RegExp(`^\\$\\{(?:env|secret):${NAME}\\}$`)
/** For schemas of views. */
export const SHOWN_REFERENCE = ONLY.source

export const writeReference = ({ kind, name, fallback }: Reference): string =>
  `\${${kind}:${name}${fallback === null ? '' : `:-${fallback}`}}`

/** A text that resolves to the given one. */
export const escapeReferences = (text: string): string => text.replace(TOKENS, (token) => `$${token}`)

/**
 * How agents write references: `braces` `${NAME}` and `${NAME:-default}`, `env` `${env:NAME}`, `input` `${input:id}`,
 * `curly` `{env:NAME}`, `dollar` `$NAME`, `percent` `%NAME%`, `actions` `${{ secrets.NAME }}`, `own` `${secret:NAME}`.
 */
export type Form = 'braces' | 'env' | 'input' | 'curly' | 'dollar' | 'percent' | 'actions' | 'own'
