import { isObject } from '../../kernel/is-object.ts'
import { maskCommand } from '../../kernel/secrets/secrets.ts'

type Definition =
  | { readonly type: 'stdio'; readonly env: Readonly<Record<string, string>> }
  | { readonly type: 'http' | 'sse'; readonly headers: Readonly<Record<string, string>> }

/**
 * A definition with the variables that its entry only names, and the fields that name them. What the entry writes itself
 * takes precedence.
 */
export function withForwarded<D extends Definition>(
  definition: D,
  entry: Readonly<Record<string, unknown>>,
): { readonly definition: D; readonly fields: readonly string[] } {
  const { env, headers, fields } = forwardedVariables(entry)
  const isForEnv = (field: string) => field === 'env_vars' || field === 'env_keys'
  return definition.type === 'stdio'
    ? { definition: { ...definition, env: { ...env, ...definition.env } }, fields: fields.filter(isForEnv) }
    : {
        definition: { ...definition, headers: { ...headers, ...definition.headers } },
        fields: fields.filter((field) => !isForEnv(field)),
      }
}

/** What an entry takes from variables that it only names, as references. */
interface Forwarded {
  readonly env: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** The fields that were read. */
  readonly fields: readonly string[]
}

/**
 * Reads the fields of Codex (`bearer_token_env_var`, `env_http_headers`, `env_vars`) and of Goose (`env_keys`, names of
 * its own secrets). A field of another shape is not read.
 */
function forwardedVariables(entry: Readonly<Record<string, unknown>>): Forwarded {
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

/** The defaults of the inputs that VS Code asks for, by id. Others have none. */
export function inputDefaults(inputs: unknown): ReadonlyMap<string, string> {
  const defaults = new Map<string, string>()
  for (const input of Array.isArray(inputs) ? inputs : []) {
    if (!isObject(input)) continue
    const { id, default: value } = input
    if (typeof id === 'string' && typeof value === 'string') defaults.set(id, value)
  }
  return defaults
}
