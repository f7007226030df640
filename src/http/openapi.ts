import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { CATALOGUE, type ErrorCode } from '../kernel/errors.ts'
import { exampleOf } from './example.ts'
import { PROBLEM_TYPE } from './problem.ts'
import { isPublic } from './public-routes.ts'

export interface OpenApiOptions {
  readonly version: string
  readonly headerName: string
  readonly protectReads: boolean
}

/** Error codes that are specific to a route, from its `config`. */
export interface RouteErrors {
  readonly errors?: readonly ErrorCode[]
}

const SCHEME = 'token'

/** OpenAPI 3.1 from the routes' schemas. Errors and the token are added here for all routes. */
export async function describeApi(app: FastifyInstance, options: OpenApiOptions): Promise<void> {
  const openapi: FastifyDynamicSwaggerOptions['openapi'] = {
    openapi: '3.1.0',
    info: {
      title: 'Toolroom',
      version: options.version,
      description:
        'One local service that registers, runs and observes every MCP tool server on your computer.',
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        [SCHEME]: {
          type: 'apiKey',
          in: 'header',
          name: options.headerName,
          description: 'AUTH_TOKEN, or the token in the file that the service names when it starts',
        },
      },
      schemas: { Problem: problemSchema() },
    },
  }
  await app.register(swagger, {
    openapi,
    transform: ({ schema, url, route }) => {
      if (schema?.hide) return { schema, url }
      const method = [route.method].flat()[0] ?? 'GET'
      const open = isPublic(method, url, {}, options.protectReads)
      const security = open ? [] : [{ [SCHEME]: [] }]
      const own = (route.config as RouteErrors | undefined)?.errors ?? []
      const errors = errorResponses(method, schema ?? {}, open, own)
      const response = { ...withExamples(schema?.response), ...errors }
      const body = schema?.body ? { ...schema.body, examples: [exampleOf(schema.body)] } : undefined
      const extra = { security, response, operationId: operationId(method, url), ...(body && { body }) }
      return { schema: { ...schema, ...extra } as FastifySchema, url }
    },
  })
}

/** Adds an example to each response, which /docs shows before a request is sent. */
function withExamples(responses: unknown): Record<string, unknown> {
  const entries = Object.entries(
    (responses ?? {}) as Record<string, object & { type?: string; content?: unknown }>,
  )
  return Object.fromEntries(
    entries.map(([status, schema]) => {
      const bare = schema.content !== undefined || schema.type === 'null'
      return [status, bare ? schema : { ...schema, examples: [exampleOf(schema)] }]
    }),
  )
}

/** `PATCH /api/servers/:id` becomes `patch_servers_id`. */
function operationId(method: string, url: string): string {
  return [method.toLowerCase(), ...url.split('/').slice(2)].join('_').replaceAll(':', '').replaceAll('-', '_')
}

/** The error codes that a route can return, derived from its method and schema. */
function errorResponses(
  method: string,
  schema: FastifySchema,
  open: boolean,
  own: readonly ErrorCode[],
): Record<number, unknown> {
  const codes: ErrorCode[] = [
    ...own,
    'bad_request',
    'bad_host_header',
    'host_not_allowed',
    'origin_not_allowed',
    'cross_site',
  ]
  codes.push('request_timeout', 'url_too_long', 'headers_too_large', 'invalid_input', 'internal_error')
  if (!open) codes.push('missing_token', 'invalid_token')
  if (schema.params) codes.push('not_found')
  if (schema.body) codes.push('blocked_address')
  if (method !== 'GET') codes.push('invalid_json', 'body_too_large', 'unsupported_media_type')
  codes.push('store_busy', 'store_damaged', 'shutting_down')
  if (method !== 'GET') codes.push('disk_full')
  if (schema.body) codes.push('server_exists', 'limit_reached')
  if (schema.headers) codes.push('revision_mismatch')
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes)
    byStatus.set(CATALOGUE[code].status, [...(byStatus.get(CATALOGUE[code].status) ?? []), code])
  const named = new Set(Object.keys((schema.response as object | undefined) ?? {}).map(Number))
  const entries = [...byStatus].filter(([status]) => !named.has(status))
  return Object.fromEntries(entries.map(([status, list]) => [status, problemResponse(status, list)]))
}

function problemResponse(status: number, codes: readonly ErrorCode[]) {
  const [code = 'internal_error'] = codes
  const { title } = CATALOGUE[code]
  const type = `/docs/errors/${code}`
  const example = { type, title, status, detail: `${title}.`, code, request_id: 'req_Zm9vYmFyYmF6' }
  const content = { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, example } }
  return { description: codes.map((each) => `\`${each}\``).join(', '), content }
}

function problemSchema() {
  const text = (description: string) => ({ type: 'string' as const, description })
  return {
    type: 'object' as const,
    description: 'RFC 9457',
    required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
    properties: {
      type: text('A page on this service that explains the error code'),
      title: text('The kind of error'),
      status: { type: 'integer' as const },
      detail: text('What happened in this case'),
      code: { type: 'string' as const, enum: Object.keys(CATALOGUE) },
      request_id: text('Identifies the request in the log'),
      errors: {
        type: 'array' as const,
        items: {
          type: 'object' as const,
          required: ['path', 'message'],
          properties: { path: text('JSON pointer to the field'), message: text('What is wrong with it') },
        },
      },
      hint: text('What usually helps'),
      last_error: {
        type: 'object' as const,
        description: 'Why a tool server is not running',
        required: ['code', 'message', 'hint'],
        properties: {
          code: text('The stable error code'),
          message: text('The cause'),
          hint: { type: ['string', 'null'] as unknown as 'string', description: 'What to do next' },
        },
      },
      stderr_tail: {
        type: 'array' as const,
        items: text('A line'),
        description: "The last lines of the tool server's stderr",
      },
    },
  }
}
