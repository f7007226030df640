import { isObject } from '../../kernel/is-object.ts'
import { maskCommand } from '../../kernel/secrets/secrets.ts'

/** What an entry takes from variables that it only names, as references. */
export interface Forwarded {
  readonly env: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** The fields that were read. */
  readonly fields: readonly string[]
}

/**
 * Reads the fields of Codex (`bearer_token_env_var`, `env_http_headers`, `env_vars`) and of Goose (`env_keys`, names of
 * its own secrets). A field of another shape is not read.
 */
export function forwardedVariables(entry: Readonly<Record<string, unknown>>): Forwarded {
  const env: Record<string, string> = {}
  const headers: Record<string, string> = {}
  const fields: string[] = []
  const read = (field: string, add: (value: unknown) => boolean) => {
    if (Object.hasOwn(entry, field) && add(entry[field])) fields.push(field)
  }
  const names = (kind: 'env' | 'secret') => (value: unknown) => {
    if (!Array.isArray(value) || !value.every(isName)) return false
    for (const name of value) env[name] = reference(kind, name)
    return true
  }
  read('bearer_token_env_var', (value) => {
    if (!isName(value)) return false
    headers.Authorization = `Bearer ${reference('env', value)}`
    return true
  })
  read('env_http_headers', (value) => {
    if (!isObject(value) || !Object.values(value).every(isName)) return false
    for (const [header, name] of Object.entries(value)) headers[header] = reference('env', String(name))
    return true
  })
  read('env_vars', names('env'))
  read('env_keys', names('secret'))
  return { env, headers, fields }
}

/** Some users write the token itself in place of the name of its variable. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Z_][A-Z0-9_]{0,127}$/.test(value) && maskCommand(value) === value

const reference = (kind: 'env' | 'secret', name: string): string => `\${${kind}:${name}}`
