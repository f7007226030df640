import { isObject } from '../../../kernel/is-object.ts'
import { maskOAuth } from '../../../kernel/secrets/mask-oauth.ts'
import { MASK, maskArgs, maskCommand, maskUrl, maskValues } from '../../../kernel/secrets/secrets.ts'

/** The fields of a server as they are sent to add it. */
export type Definition = Readonly<Record<string, unknown>>

type Texts = Record<string, string>

/** How each field that may contain a secret is shown. */
const MASKS: Readonly<Record<string, (value: unknown) => unknown>> = {
  command: (value) => maskCommand(String(value)),
  args: (value) => maskArgs(value as string[]),
  env: (value) => maskValues(value as Texts),
  url: (value) => maskUrl(String(value)),
  headers: (value) => maskValues(value as Texts),
  oauth: (value) => (isObject(value) ? maskOAuth(value) : value),
}

/** The definition with secrets masked, and the fields that this has changed, in full. */
export function separateSecrets(definition: Definition): {
  readonly masked: Definition
  readonly secrets: Definition
} {
  const masked = Object.entries(definition).map(([field, value]): [string, unknown] => [
    field,
    Object.hasOwn(MASKS, field) ? MASKS[field]?.(value) : value,
  ])
  const isChanged = ([field, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(definition[field])
  const secrets = masked.filter(isChanged).map(([field]) => [field, definition[field]])
  return { masked: Object.fromEntries(masked), secrets: Object.fromEntries(secrets) }
}

/** Fields whose values have names. */
const WITH_NAMES: ReadonlySet<string> = new Set(['env', 'headers', 'oauth'])

/**
 * A definition without the values that are not in the file, for a server that does not exist yet. `missing` names them;
 * `broken` are fields that make no sense without them.
 */
export function withoutMasked(definition: Definition): {
  readonly rest: Definition
  readonly missing: readonly string[]
  readonly broken: readonly string[]
} {
  const missing: string[] = []
  const rest = Object.entries(definition).map(([field, value]): [string, unknown] => {
    if (!WITH_NAMES.has(field) || !isObject(value)) return [field, value]
    const entries = Object.entries(value)
    missing.push(...entries.filter(([, text]) => text === MASK).map(([name]) => name))
    return [field, Object.fromEntries(entries.filter(([, text]) => text !== MASK))]
  })
  const broken = rest
    .filter(([field, value]) => Object.hasOwn(MASKS, field) && JSON.stringify(value).includes(MASK))
    .map(([field]) => field)
  return { rest: Object.fromEntries(rest), missing, broken }
}
