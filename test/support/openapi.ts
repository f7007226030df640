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
  readonly components: { readonly schemas: { readonly Problem: Schema } }
}

/** Reads `/docs/json`, so that the service is tested against its own documentation. */
export function readOpenApi({ paths, components }: OpenApi): { operations: Operation[]; problem: Schema } {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(method.toUpperCase(), path, described)),
  )
  return { operations, problem: components.schemas.Problem }
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
