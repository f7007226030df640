import SwaggerParser from '@apidevtools/swagger-parser'
import ajvCompiler from '@fastify/ajv-compiler'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import Value from 'typebox/value'
import { expect, test } from 'vitest'
import { covers } from '../../../../test/support/covers.ts'
import { readOpenApi, resolved } from '../../../../test/support/openapi.ts'
import { openTestService } from '../../../../test/support/test-service.ts'

interface Operation {
  readonly name: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly operationId?: string
  readonly security?: readonly Record<string, readonly string[]>[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, Answer>>
}
interface Answer {
  readonly $ref?: string
  readonly description?: string
  readonly content?: Content
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>
interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly type?: string
}
interface Document {
  readonly openapi: string
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>
    readonly responses: Readonly<
      Record<string, { readonly content: Readonly<Record<string, { examples: object }>> }>
    >
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}

const HEADER = { AUTH_TOKEN_HEADER_NAME: 'X-My-Key' }
let renamed: string | undefined

/** The document of a service whose token header is renamed. */
async function read() {
  renamed ??= (await (await openTestService({ env: HEADER })).inject('/docs/json')).body
  return { text: renamed, ...parse(renamed) }
}

function parse(text: string) {
  const document = JSON.parse(text) as Document
  const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      name: `${method.toUpperCase()} ${path}`,
    })),
  )
  return { document, operations }
}

test('the OpenAPI document is 3.1 and describes every route and the gateway: what it does, its responses, and its schemas by name', async () => {
  covers('open-payloads', 'does-rest')
  const service = await openTestService()
  const { document, operations } = parse((await service.inject('/docs/json')).body)
  const routes = service.app.methods
    .list()
    .filter(({ method, url }) => method !== 'HEAD' && url.startsWith('/api/'))
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
  const gateway = ['/mcp', '/mcp/{server_id}'].flatMap((path) => [
    `POST ${path}`,
    `GET ${path}`,
    `DELETE ${path}`,
  ])

  expect(document.openapi).toBe('3.1.0')
  expect(operations.map(({ name }) => name).sort()).toEqual([...routes, ...gateway].sort())
  const tags = document.tags.map(({ name }) => name)
  expect(operations.flatMap((operation) => missingIn(operation, tags))).toEqual([])
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
})

/** What a route has to add to its schema. */
function missingIn(operation: Operation, known: readonly string[]): string[] {
  const { name, summary, description, tags = [], requestBody, responses } = operation
  const found: string[] = []
  if (!summary) found.push(`${name} has no summary`)
  if (!description) found.push(`${name} has no description`)
  if (tags.length === 0) found.push(`${name} has no tags`)
  for (const tag of tags)
    if (!known.includes(tag))
      found.push(`${name}: describe the tag '${tag}' in src/api/http/openapi/openapi.ts`)
  for (const { schema } of Object.values(requestBody?.content ?? {}))
    if (!isNamed(schema)) found.push(`${name}: name the schema of its body with component()`)
  for (const [status, answer] of Object.entries(responses)) {
    if (answer.$ref !== undefined) continue
    if (!answer.description) found.push(`${name}: the response ${status} has no description`)
    for (const { schema } of Object.values(answer.content ?? {}))
      if (!isNamed(schema)) found.push(`${name}: name the schema of the response ${status} with component()`)
  }
  return found
}

const isNamed = ({ $ref, anyOf = [], type }: Schema): boolean =>
  $ref !== undefined || type === 'string' || anyOf.some((each) => each.$ref !== undefined)

test('the OpenAPI document marks protected routes and names the configured token header', async () => {
  covers('auth-2-header-name', 'auth-5-renamed-header')
  const { document, operations } = await read()
  expect(document.components.securitySchemes.token).toMatchObject({
    type: 'apiKey',
    in: 'header',
    name: 'X-My-Key',
  })
  const open = operations.filter(({ security }) => security?.length === 0).map(({ name }) => name)
  expect(open.sort()).toEqual([
    'GET /api/agents',
    'GET /api/agents/{agent_type}',
    'GET /api/agents/{agent_type}/http-servers',
    'GET /api/calls',
    'GET /api/health',
    'GET /api/http-servers',
    'GET /api/http-servers/{id}',
    'GET /api/http-servers/{id}/metrics',
    'GET /api/http-servers/{id}/tools',
    'GET /api/logs',
    'GET /api/logs/download',
    'GET /api/logs/histogram',
    'GET /api/metrics/agents',
    'GET /api/metrics/prometheus',
    'GET /api/metrics/servers/{id}',
    'GET /api/metrics/summary',
    'GET /api/metrics/timeseries',
    'GET /api/metrics/tools',
    'GET /api/notices',
    'GET /api/packages',
    'GET /api/packages/{id}',
    'GET /api/packages/{scope}/{name}',
    'GET /api/servers',
    'GET /api/servers/{id}',
    'GET /api/servers/{id}/tools',
    'GET /api/ws/metrics',
    'POST /api/login',
    'POST /api/packages/search',
  ])
  for (const { name, security, responses } of operations) {
    if (security?.length) expect(responses, name).toHaveProperty('401')
  }
})

test('the examples of a 401 are the two sentences of the specification, with the configured header', async () => {
  covers('errors-missing-token', 'errors-invalid-token')
  const { document, operations } = await read()
  const stop = operations.find(({ name }) => name === 'POST /api/servers/{id}/stop')
  expect(stop?.responses['401']).toEqual({ $ref: '#/components/responses/Unauthorized' })
  const examples = document.components.responses.Unauthorized?.content['application/problem+json']?.examples
  expect(examples).toMatchObject({
    missing_token: {
      value: { status: 401, detail: "Missing authentication token in 'X-My-Key' header" },
    },
    invalid_token: { value: { status: 401, detail: 'Invalid authentication token' } },
  })
})

test("the OpenAPI document passes swagger-parser and Redocly's recommended rules, and no internal keyword is in it", async () => {
  const { text } = await read()
  await SwaggerParser.validate(JSON.parse(text))
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: text, config })
  const found = problems.map(
    ({ severity, ruleId, message, location: [at] }) => `${severity} ${ruleId} ${at?.pointer}: ${message}`,
  )
  expect(found.filter((each) => each.startsWith('error'))).toEqual([])
  for (const keyword of ['expected', '~kind', '~optional'])
    expect(text.includes(`"${keyword}":`), keyword).toBe(false)
})

test('every example in the OpenAPI document is valid for its own schema', async () => {
  const { document } = await read()
  const faults: string[] = []
  let count = 0
  walk(resolved(document, document.components), '', (schema, examples, at) => {
    for (const example of examples) {
      count += 1
      const [fault] = Value.Check(schema, example) ? [] : Value.Errors(schema, example)
      if (fault) faults.push(`${at}${fault.instancePath} ${fault.message}`)
    }
  })
  expect(faults).toEqual([])
  expect(count).toBeGreaterThan(500)
})

/** Calls `check` for the examples of each schema, and of each body with a schema. */
function walk(
  value: unknown,
  at: string,
  check: (schema: object, examples: readonly unknown[], at: string) => void,
): void {
  if (typeof value !== 'object' || value === null) return
  const { examples, schema } = value as { examples?: object; schema?: object }
  if (Array.isArray(examples)) check(value, examples, at)
  else if (examples && schema)
    check(
      schema,
      Object.values(examples).map((example) => (example as { value: unknown }).value),
      at,
    )
  for (const [key, each] of Object.entries(value))
    if (!['examples', 'enum', 'default'].includes(key)) walk(each, `${at}/${key}`, check)
}

test('every schema of the document is valid JSON Schema: the validators of requests do not check theirs', async () => {
  const { operations } = readOpenApi(JSON.parse((await read()).text))
  const schemas = operations.flatMap(({ method, path, parameters, body, answers }) =>
    [...parameters.map(({ schema }) => schema), body, ...answers.values()].map((schema) => ({
      method,
      url: path,
      schema: schema ?? {},
    })),
  )
  expect(schemas.length).toBeGreaterThan(300)
  const problems = [...schemas, { method: 'GET', url: '/wrong', schema: { type: 'string', minLength: '2' } }]
    .filter(({ schema }) => !isValidSchema(schema))
    .map(({ method, url }) => `${method} ${url}`)
  expect(problems).toEqual(['GET /wrong'])
})

const META = ajvCompiler()(
  {},
  { customOptions: { strict: false, logger: false, keywords: ['expected', 'example'] } },
)

const judged = new Map<string, boolean>()

/** Judges each different schema once: many routes have the same. */
function isValidSchema(schema: object): boolean {
  const text = JSON.stringify(schema)
  const isValid = judged.get(text) ?? compiles(schema)
  judged.set(text, isValid)
  return isValid
}

/** Fastify's own compiler checks a schema before it compiles it, unless it is told not to. */
function compiles(schema: object): boolean {
  try {
    META({ schema, method: 'GET', url: '/', httpPart: 'body' } as never)
    return true
  } catch {
    return false
  }
}
