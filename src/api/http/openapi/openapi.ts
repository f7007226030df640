import type { FastifyInstance, FastifySchema } from 'fastify'
import type { ErrorCode } from '../../../kernel/error-catalogue.ts'
import { isObject } from '../../../kernel/json/json-checks.ts'
import { mayBeEmpty } from '../json-body.ts'
import { isPublic } from '../public-routes.ts'
import { Components, type Schema } from './components.ts'
import { PROBLEM_SCHEMA, problemResponses, sharedResponses } from './problem-responses.ts'

interface OpenApiOptions {
  readonly version: string
  readonly headerName: string
  readonly protectReads: boolean
  /** What is served without the framework. */
  readonly gatewayRoutes?: readonly DescribedRoute[]
}

declare module 'fastify' {
  interface FastifySchema {
    readonly hide?: boolean
    readonly tags?: readonly string[]
    readonly summary?: string
    readonly description?: string
  }
}

/** Error codes that are specific to a route, from its `config`. */
interface RouteErrors {
  readonly errors?: readonly ErrorCode[]
}

export interface DescribedRoute {
  readonly method: string
  readonly url: string
  readonly schema: FastifySchema
}

interface Route extends DescribedRoute {
  readonly errors: readonly ErrorCode[]
}

const SCHEME = 'token'
const GATEWAY_SCHEMES = [{ gateway_key: [] }, { gateway_key_header: [] }]

/** OpenAPI 3.1 from the schemas of all routes that are registered from now on. Errors and the token are added here. */
export function describeApi(app: FastifyInstance, options: OpenApiOptions): () => string {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema = {}, config }) => {
    const errors = (config as RouteErrors | undefined)?.errors ?? []
    for (const one of [method].flat())
      if (one !== 'HEAD' && !schema.hide) routes.push({ method: one, url, schema, errors })
  })
  let text: string | undefined
  return () => {
    text ??= JSON.stringify(documentOf(routes, options))
    return text
  }
}

function documentOf(routes: readonly Route[], { gatewayRoutes = [], ...options }: OpenApiOptions): object {
  const { version, headerName, protectReads } = options
  const components = new Components()
  const paths: Record<string, Record<string, object>> = {}
  const add = ({ method, url }: DescribedRoute, operation: object) => {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  for (const route of routes) {
    const { method, url, schema, errors: own } = route
    const isOpen = isPublic(method, url, {}, protectReads)
    const problems = problemResponses(
      {
        method,
        isOpen,
        hasParams: schema.params !== undefined,
        hasBody: schema.body !== undefined,
        hasHeaders: schema.headers !== undefined,
        own,
      },
      headerName,
    )
    add(route, operationOf(route, isOpen ? [] : [{ [SCHEME]: [] }], problems, components))
  }
  for (const route of gatewayRoutes) add(route, operationOf(route, GATEWAY_SCHEMES, {}, components))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Toolroom',
      version,
      description:
        'One local service that registers, runs and observes every MCP tool server on your computer.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: tagsOf(routes),
    paths,
    components: {
      securitySchemes: securitySchemes(headerName, gatewayRoutes.length > 0),
      schemas: { Problem: PROBLEM_SCHEMA, ...components.schemas },
      responses: sharedResponses(headerName),
    },
  }
}

function securitySchemes(headerName: string, hasGateway: boolean): object {
  const inHeader = (description: string) => ({ type: 'apiKey', in: 'header', name: headerName, description })
  const key = 'A gateway key, which opens the gateway and nothing else'
  return {
    [SCHEME]: inHeader('AUTH_TOKEN, or the token in the file that the service names when it starts'),
    ...(hasGateway && {
      gateway_key: { type: 'http', scheme: 'bearer', description: key },
      gateway_key_header: inHeader(`${key}, for agents that cannot send Authorization`),
    }),
  }
}

/** The groups in use, in the order of the table. */
function tagsOf(routes: readonly DescribedRoute[]): object[] {
  const used = new Set(routes.flatMap(({ schema }) => schema.tags ?? []))
  return Object.entries(TAGS).flatMap(([name, description]) =>
    used.has(name) ? [{ name, description }] : [],
  )
}

interface OperationRoute {
  readonly method: string
  readonly url: string
  readonly schema: {
    readonly tags?: readonly string[]
    readonly summary?: string
    readonly description?: string
    readonly params?: unknown
    readonly querystring?: unknown
    readonly headers?: unknown
    readonly body?: unknown
    readonly response?: unknown
  }
}

const JSON_TYPE = 'application/json'

/** One route as an OpenAPI operation. A response of its own replaces the problem of the same status. */
function operationOf(
  { method, url, schema }: OperationRoute,
  security: readonly object[],
  problems: Readonly<Record<number, object>>,
  components: Components,
): object {
  const { tags, summary, description, params, querystring, headers, body, response } = schema
  const own = Object.entries((response ?? {}) as Record<string, Schema>).map(([status, answer]) => [
    status,
    responseOf(answer, components),
  ])
  return {
    operationId: operationId(method, url),
    tags,
    summary,
    description,
    security,
    parameters: [
      ...parametersIn('path', params, components),
      ...parametersIn('query', querystring, components),
      ...parametersIn('header', headers, components),
    ],
    ...(body !== undefined && {
      requestBody: {
        required: !mayBeEmpty(body),
        content: { [JSON_TYPE]: { schema: components.refer(body) } },
      },
    }),
    responses: { ...problems, ...Object.fromEntries(own) },
  }
}

/** `PATCH /api/servers/:id` becomes `patch_servers_id`. */
function operationId(method: string, url: string): string {
  const segments = url.replace(/^\/api\//, '').split('/')
  const words = [method.toLowerCase(), ...segments.filter((segment) => segment !== '')]
  return words.join('_').replaceAll(':', '').replaceAll('-', '_')
}

function parametersIn(place: 'path' | 'query' | 'header', schema: unknown, components: Components): object[] {
  if (!isObject(schema)) return []
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }
  return Object.entries(properties).map(([name, { description, ...field }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    description,
    schema: components.refer(field),
  }))
}

function responseOf(schema: Schema, components: Components): object {
  const { description, type, content } = schema
  if (type === 'null') return { description: description ?? 'Done. The response has no body.' }
  if (!isObject(content))
    return { description, content: { [JSON_TYPE]: { schema: components.refer(schema) } } }
  const kinds = Object.entries(content as Record<string, Schema>).map(
    ([kind, { schema: inner, ...more }]) => [kind, { schema: components.refer(inner), ...more }],
  )
  return { description, content: Object.fromEntries(kinds) }
}

/** What the operations of each group are about. */
const TAGS: Readonly<Record<string, string>> = {
  'STDIO servers': 'Tool servers that are local processes.',
  'HTTP servers': 'Tool servers that are reached at a URL.',
  Agents: 'Programs that use tool servers, and their configuration files.',
  Packages: 'npm packages that contain tool servers.',
  Isolation: 'Sandboxes and containers for tool servers: what this computer can do, and images.',
  Secrets: 'Named secrets that servers refer to.',
  Calls: 'What agents and people called, what came of it, and calls that are saved to be made again.',
  Notices: 'What needs your attention.',
  Events: 'What happened, for people.',
  Presets: 'Named choices of servers and tools.',
  Backups: "Earlier versions of agents' files, and of the whole configuration.",
  Service: 'Settings, access, and the end of the service.',
  Export: 'Everything that you have set up, in one file.',
  Jobs: 'Work that continues after the request that started it.',
  Logs: "The log of the service and of every server's output.",
  Metrics: 'Calls, latencies, errors and the live stream.',
  Gateway: 'One MCP endpoint for all servers, its keys, and what each agent may use.',
  Processes: 'MCP processes whose agent has exited.',
  Health: 'Whether the service works.',
}
