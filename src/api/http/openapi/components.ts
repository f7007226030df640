import { isObject } from '../../../kernel/json/json-checks.ts'

export type Schema = Readonly<Record<string, unknown>>

/** The keywords of JSON Schema that are published. All others are internal, such as `expected`. */
const KEYWORDS = new Set(
  `$ref title description examples default deprecated type enum const format pattern minLength maxLength minimum
  maximum exclusiveMinimum exclusiveMaximum multipleOf items prefixItems minItems maxItems uniqueItems properties
  required additionalProperties patternProperties propertyNames minProperties maxProperties anyOf oneOf allOf not
  contentEncoding contentMediaType`.split(/\s+/),
)
const MAPS = new Set(['properties', 'patternProperties'])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const SINGLE = new Set(['items', 'additionalProperties', 'propertyNames', 'not'])

/** The named schemas of the document. The `title` of a schema is its name. */
export class Components {
  readonly #schemas = new Map<string, Schema>()

  get schemas(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The schema as it is published: a reference if it has a title, and without internal keywords. */
  refer(schema: unknown): unknown {
    if (!isObject(schema)) return schema // true or false
    const { title, ...published } = this.#published(schema)
    if (typeof title !== 'string') return published
    const named = { ...published, examples: [exampleOf(schema)] }
    const known = this.#schemas.get(title)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(named))
      throw new Error(`Two different schemas have the title '${title}'`)
    this.#schemas.set(title, named)
    return { $ref: `#/components/schemas/${title}` }
  }

  #published(schema: Schema): Schema {
    const kept = Object.entries(schema).filter(([keyword]) => KEYWORDS.has(keyword))
    return Object.fromEntries(kept.map(([keyword, value]) => [keyword, this.#valueOf(keyword, value)]))
  }

  #valueOf(keyword: string, value: unknown): unknown {
    if (MAPS.has(keyword))
      return Object.fromEntries(
        Object.entries(value as Schema).map(([name, each]) => [name, this.refer(each)]),
      )
    if (LISTS.has(keyword)) return (value as Schema[]).map((each) => this.refer(each))
    return SINGLE.has(keyword) ? this.refer(value) : value
  }
}

interface ExampleSchema {
  readonly type?: string | readonly string[]
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly ExampleSchema[]
  readonly items?: ExampleSchema
  readonly properties?: Readonly<Record<string, ExampleSchema>>
  readonly minimum?: number
}

/** A valid example for the documentation, built from the examples of the schema's fields. */
function exampleOf(schema: ExampleSchema): unknown {
  if (schema.examples?.length) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0] ?? {})
  switch (typeof schema.type === 'string' ? schema.type : schema.type?.[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, field]) => [name, exampleOf(field)]),
      )
    case 'array':
      return schema.items ? [exampleOf(schema.items)] : []
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    case 'string':
      return 'text'
    default:
      return null
  }
}
