import { isObject } from '../../kernel/json/json-checks.ts'

const BASE64_HEAD = '=?base64?'

/** The text as a header value: unchanged if it is visible ASCII with inner spaces, else Base64 in MCP's notation. */
export function headerText(text: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text) && !text.startsWith(BASE64_HEAD)
  return plain ? text : `${BASE64_HEAD}${Buffer.from(text.toWellFormed(), 'utf8').toString('base64')}?=`
}

/** The param that the header `Mcp-Name` repeats, by method. */
const NAME_PARAM: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  // The tasks extension.
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** Undefined for a method without such a param. */
export const nameParamOf = (method: string): string | undefined =>
  Object.hasOwn(NAME_PARAM, method) ? NAME_PARAM[method] : undefined

/** An argument that is repeated in the header `Mcp-Param-<header>`. */
export interface MirroredArgument {
  readonly header: string
  /** The names of the nested arguments that lead to it. */
  readonly path: readonly string[]
}

const DECLARATION = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean']
const MAX_DEPTH = 8
/** No hand-written schema is deeper. Deeper levels are not searched. */
const MAX_SEARCH_DEPTH = 64

/** The arguments for which the schema declares a header. Declarations that the specification does not allow are skipped. */
export function mirroredArguments(schema: unknown, path: readonly string[] = []): MirroredArgument[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return []
  const header = schema[DECLARATION]
  const isMirrored = isHeader(header) && path.length > 0 && TYPES.includes(schema.type)
  const below = isObject(schema.properties) ? Object.entries(schema.properties) : []
  return [
    ...(isMirrored ? [{ header, path }] : []),
    ...below.flatMap(([key, each]) => mirroredArguments(each, [...path, key])),
  ]
}

/**
 * Why a tool must not be offered, or undefined. The specification requires clients to leave out a tool with an invalid
 * declaration.
 */
export function headerProblem(schema: unknown): string | undefined {
  if (!JSON.stringify(schema)?.includes(DECLARATION)) return undefined // the usual case, decided cheaply
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
  /** Through `properties` only. In any other place it is ambiguous which argument is meant. */
  readonly reachable: boolean
}

/** Keywords of JSON Schema whose value is a schema or a list of schemas, or (`MAPS`) a map of schemas. */
const SCHEMAS = [
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
  for (const keyword of SCHEMAS)
    for (const each of [schema[keyword]].flat()) yield* declarations(each, false, depth + 1)
  for (const keyword of MAPS) {
    const map = schema[keyword]
    if (isObject(map)) for (const each of Object.values(map)) yield* declarations(each, false, depth + 1)
  }
}

const isHeader = (value: unknown): value is string => typeof value === 'string' && TOKEN.test(value)
