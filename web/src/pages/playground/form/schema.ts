/** What a JSON Schema asks for, reduced to what the form can draw. Anything else is a box for JSON. */

export type Schema = Readonly<Record<string, unknown>>

interface Common {
  readonly schema: Schema
  readonly description: string | undefined
  /** May be null. */
  readonly nullable: boolean
  /** Beside the field: `string`, `list of strings`, `integer or null`. */
  readonly type: string
}
export interface Property {
  readonly name: string
  readonly required: boolean
  readonly field: Field
}
export type Field = Common &
  (
    | { readonly kind: 'text' | 'number' | 'boolean' | 'json' }
    | { readonly kind: 'choice'; readonly values: readonly unknown[] }
    | { readonly kind: 'list'; readonly item: () => Field }
    | { readonly kind: 'object'; readonly properties: () => readonly Property[] }
    | { readonly kind: 'variant'; readonly variants: readonly Schema[] }
  )

export const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The field for a schema. `root` is where `$ref` points into. */
export function fieldOf(given: unknown, root: Schema): Field {
  const schema = resolved(given, root)
  const { nullable, rest } = withoutNull(schema, root)
  const drawn = drawnAs(rest, root)
  const description = textOf(schema.description) ?? textOf(rest.description)
  const name = drawn.type ?? drawn.kind
  return { ...drawn, schema: rest, nullable, description, type: nullable ? `${name} or null` : name } as Field
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const MOST_REFS = 20

/** Follows `$ref` inside of the document. */
function resolved(given: unknown, root: Schema): Schema {
  let schema = isObject(given) ? given : {}
  for (let hops = 0; typeof schema.$ref === 'string' && hops < MOST_REFS; hops += 1) {
    const { $ref, ...beside } = schema
    const target = pointed(root, $ref as string)
    if (!isObject(target)) return beside
    schema = { ...target, ...beside }
  }
  return schema
}

function pointed(root: Schema, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined
  const steps = ref.slice(1).split('/').slice(1)
  return steps.reduce<unknown>((at, step) => {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

/** A step that is not well encoded is taken as it is. */
function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

/** `anyOf [X, null]` and `type [x, null]` are X that may be null. */
function withoutNull(schema: Schema, root: Schema): { readonly nullable: boolean; readonly rest: Schema } {
  const { type } = schema
  if (Array.isArray(type) && type.includes('null') && type.length === 2)
    return { nullable: true, rest: { ...schema, type: type.find((each) => each !== 'null') } }
  for (const word of ['anyOf', 'oneOf'] as const) {
    const options = listOf(schema[word]).map((option) => resolved(option, root))
    const others = options.filter((option) => option.type !== 'null')
    const [only] = others
    if (only && others.length === 1 && options.length === 2) {
      const { [word]: _, ...beside } = schema
      return { nullable: true, rest: { ...only, ...beside } }
    }
  }
  return { nullable: false, rest: schema }
}

type Drawn = { readonly kind: Field['kind']; readonly type?: string } & Record<string, unknown>

function drawnAs(schema: Schema, root: Schema): Drawn {
  if ('const' in schema) return { kind: 'choice', values: [schema.const], type: 'constant' }
  if (Array.isArray(schema.enum)) return { kind: 'choice', values: schema.enum, type: 'one of' }
  const variants = [...listOf(schema.oneOf), ...listOf(schema.anyOf)].map((each) => resolved(each, root))
  if (variants.length > 0)
    return variants.every((each) => each.type === 'object' || isObject(each.properties))
      ? { kind: 'variant', variants, type: 'one of several' }
      : { kind: 'json', type: 'any of several' }
  switch (schema.type) {
    case 'string':
      return { kind: 'text', type: textOf(schema.format) ?? 'string' }
    case 'integer':
    case 'number':
      return { kind: 'number', type: schema.type }
    case 'boolean':
      return { kind: 'boolean', type: 'boolean' }
    case 'array':
      return listAs(schema, root)
    case 'object':
    case undefined:
      return objectAs(schema, root)
    default:
      return { kind: 'json' }
  }
}

function listAs(schema: Schema, root: Schema): Drawn {
  if (!isObject(schema.items) || Array.isArray(schema.prefixItems)) return { kind: 'json', type: 'list' }
  const given = schema.items
  // The item is looked at when it is drawn: a schema may contain itself.
  const item = lazily(() => fieldOf(given, root))
  const { type } = resolved(given, root)
  return {
    kind: 'list',
    type: typeof type === 'string' ? `list of ${type}s` : 'list',
    item,
  }
}

function objectAs(schema: Schema, root: Schema): Drawn {
  const { properties } = schema
  if (!isObject(properties))
    return schema.type === 'object' && !isObject(schema.additionalProperties) && schema === root
      ? { kind: 'object', properties: () => [], type: 'object' }
      : { kind: 'json', type: schema.type === 'object' ? 'map' : 'any value' }
  const required = listOf(schema.required)
  const all = lazily(() =>
    Object.entries(properties).map(([name, each]) => ({
      name,
      required: required.includes(name),
      field: fieldOf(each, root),
    })),
  )
  return {
    kind: 'object',
    type: 'object',
    properties: all,
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
