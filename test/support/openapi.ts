/** The part of JSON Schema that our documentation uses. */
export interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly minProperties?: number
  readonly maxProperties?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: Schema
}

/** One documented method of one path. */
export interface Operation {
  readonly method: string
  /** With its parameters in braces. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: Schema | undefined
  readonly needsToken: boolean
  /** The schema of each documented status; undefined if the response has no JSON body. */
  readonly answers: ReadonlyMap<number, Schema | undefined>
}

interface Described {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
  readonly security: readonly unknown[]
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: Components & { readonly schemas: Readonly<Record<string, Schema>> }
}
interface Components {
  readonly schemas: Readonly<Record<string, unknown>>
  readonly responses: Readonly<Record<string, unknown>>
}

/** Reads `/docs/json`, so that the service is tested against its own documentation. Without the gateway. */
export function readOpenApi(document: OpenApi): { operations: Operation[]; problem: Schema } {
  const { paths, components } = resolved(document, document.components) as OpenApi
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) =>
        operationOf(method.toUpperCase(), path, described),
      ),
    )
  return { operations, problem: components.schemas.Problem ?? {} }
}

/** The value with each reference replaced by the component. */
export function resolved(value: unknown, components: Components): unknown {
  if (Array.isArray(value)) return value.map((each) => resolved(each, components))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') {
    const [kind = '', name = ''] = $ref.split('/').slice(2)
    return resolved(components[kind as keyof typeof components][name], components)
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each, components)]))
}

function operationOf(method: string, path: string, described: Described): Operation {
  const { parameters = [], requestBody, responses, security } = described
  const answers = Object.entries(responses).map(([status, { content }]): [number, Schema | undefined] => [
    Number(status),
    content?.['application/json']?.schema,
  ])
  return {
    method,
    path,
    parameters,
    body: requestBody?.content['application/json']?.schema,
    needsToken: security.length > 0,
    answers: new Map(answers),
  }
}
