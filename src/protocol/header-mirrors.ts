import { isObject } from '../kernel/is-object.ts'

/** What a tool wants to see of its arguments in a header: `path` leads through `properties` of its schema. */
export interface Mirrored {
  readonly header: string
  readonly path: readonly string[]
}

const DECLARATION = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
const MAX_DEPTH = 8
/** Schemas deeper than this are nobody's hand-made ones; what stands there is not looked at. */
const MAX_SEARCH_DEPTH = 64

/** The arguments that are repeated in headers. A declaration that the specification does not allow is left out. */
export function mirroredIn(schema: unknown, path: readonly string[] = []): Mirrored[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return []
  const header = schema[DECLARATION]
  const isIt = isHeader(header) && path.length > 0 && TYPES.includes(schema.type)
  const below = isObject(schema.properties) ? Object.entries(schema.properties) : []
  return [
    ...(isIt ? [{ header, path }] : []),
    ...below.flatMap(([key, each]) => mirroredIn(each, [...path, key])),
  ]
}

/**
 * Why a tool must not be offered: the specification has clients leave out a tool that declares a header which cannot be,
 * or declares it where no argument is sure to be. Undefined when there is nothing against it.
 */
export function headerProblem(schema: unknown): string | undefined {
  if (!JSON.stringify(schema)?.includes(DECLARATION)) return undefined // nearly always, and it costs nearly nothing
  const declared = [...declarations(schema, true, 0)]
  const wrong = declared.find(({ header, type, reachable }) => {
    return !reachable || !isHeader(header) || !TYPES.includes(type)
  })
  if (wrong) return `Its schema has an ${DECLARATION} that the protocol does not allow`
  const names = declared.map(({ header }) => String(header).toLowerCase())
  return new Set(names).size < names.length ? `Its schema declares one ${DECLARATION} twice` : undefined
}

interface Declaration {
  readonly header: unknown
  readonly type: unknown
  /** By `properties` alone: elsewhere it is not certain which argument is meant. */
  readonly reachable: boolean
}

/** Words of JSON Schema that hold schemas: one or a list of them, or a map from names. */
const INSIDE = [
  ...['items', 'prefixItems', 'contains', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
  ...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames'],
]
const MAPS = ['patternProperties', 'dependentSchemas', '$defs', 'definitions']

function* declarations(schema: unknown, reachable: boolean, depth: number): Generator<Declaration> {
  if (!isObject(schema) || depth > MAX_SEARCH_DEPTH) return
  if (Object.hasOwn(schema, DECLARATION))
    yield { header: schema[DECLARATION], type: schema.type, reachable: reachable && depth > 0 }
  if (isObject(schema.properties))
    for (const each of Object.values(schema.properties)) yield* declarations(each, reachable, depth + 1)
  for (const word of INSIDE)
    for (const each of [schema[word]].flat()) yield* declarations(each, false, depth + 1)
  for (const word of MAPS) {
    const map = schema[word]
    if (isObject(map)) for (const each of Object.values(map)) yield* declarations(each, false, depth + 1)
  }
}

const isHeader = (value: unknown): value is string => typeof value === 'string' && TOKEN.test(value)
