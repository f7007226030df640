import { isObject } from '../../kernel/json/json-checks.ts'
import { maskCommand } from '../../kernel/secrets/mask-secrets.ts'

type Texts = Readonly<Record<string, string>>
type Receiver =
  | { readonly type: 'stdio'; readonly env: Texts }
  | { readonly type: 'http' | 'sse'; readonly headers: Texts }

/**
 * A definition with the variables that its entry only names, and the fields that name them. What the entry writes itself
 * takes precedence.
 */
export function withForwarded<D extends Receiver>(
  definition: D,
  entry: Readonly<Record<string, unknown>>,
): { readonly definition: D; readonly fields: readonly string[] } {
  const readers = Object.entries(definition.type === 'stdio' ? ENV_FIELDS : HEADER_FIELDS)
  const found = readers.flatMap(([field, read]) => {
    const values = Object.hasOwn(entry, field) ? read(entry[field]) : undefined
    return values ? [{ field, values }] : []
  })
  const forwarded: Texts = Object.assign({}, ...found.map(({ values }) => values))
  return {
    definition:
      definition.type === 'stdio'
        ? { ...definition, env: { ...forwarded, ...definition.env } }
        : { ...definition, headers: { ...forwarded, ...definition.headers } },
    fields: found.map(({ field }) => field),
  }
}

/** Reads a field that names variables, as references to them. Undefined if it has another shape. */
type Reader = (value: unknown) => Texts | undefined

/** Codex names variables of the environment, Goose names its own secrets. */
const ENV_FIELDS: Readonly<Record<string, Reader>> = {
  env_vars: (names) => listed('env', names),
  env_keys: (names) => listed('secret', names),
}

/** Fields of Codex. */
const HEADER_FIELDS: typeof ENV_FIELDS = {
  bearer_token_env_var: (name) =>
    isName(name) ? { Authorization: `Bearer ${reference('env', name)}` } : undefined,
  env_http_headers: (headers) => {
    if (!isObject(headers) || !Object.values(headers).every(isName)) return undefined
    return Object.fromEntries(
      Object.entries(headers).map(([header, name]) => [header, reference('env', String(name))]),
    )
  },
}

function listed(kind: 'env' | 'secret', names: unknown): Texts | undefined {
  if (!Array.isArray(names) || !names.every(isName)) return undefined
  return Object.fromEntries(names.map((name) => [name, reference(kind, name)]))
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
