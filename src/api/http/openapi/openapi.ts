import type { FastifyInstance, FastifySchema } from 'fastify'
import type { ErrorCode } from '../../../kernel/errors.ts'
import { isPublic } from '../public-routes.ts'
import { Components } from './components.ts'
import { operationOf } from './operation.ts'
import { PROBLEM_SCHEMA, problemResponses, sharedResponses } from './problem-responses.ts'
import { TAGS } from './tags.ts'

export interface OpenApiOptions {
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
export interface RouteErrors {
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
