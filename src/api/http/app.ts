import type { RequestListener } from 'node:http'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance } from 'fastify'
import { AppError, problemOf, unexpected } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { type AuthOptions, createAuth } from './auth.ts'
import { serveDocPages } from './doc-pages.ts'
import type { EarlyListener } from './early-listener.ts'
import { acceptOnlyJson } from './json-body.ts'
import { type DescribedRoute, describeApi } from './openapi/openapi.ts'
import { knownError, newRequestId, PROBLEM_TYPE } from './problem.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { serveDashboard, type WebOptions } from './serve-dashboard.ts'
import { serveSwaggerUi } from './swagger-ui.ts'
import { compileWhenUsed, readQueriesBySchema, validationError } from './validation.ts'
import { createUpgrade, type Stream } from './websocket.ts'

interface AppOptions extends AuthOptions, WebOptions {
  /** Receives the handlers when the app is built. */
  readonly front: EarlyListener
  readonly log: Log
  readonly version: string
  readonly stream?: Stream
  /** The folder with the rendered guide; undefined if there is none. */
  readonly docsFolder?: string | undefined
  /** What the gateway serves, for the documentation. */
  readonly gatewayRoutes?: readonly DescribedRoute[]
  /** Pages for browsers, at the paths that they name. */
  readonly pages?: readonly FastifyPluginAsyncTypebox[]
  /** The routes of every resource, below `/api`. */
  readonly routes: readonly FastifyPluginAsyncTypebox[]
}

/** For an app without WebSocket. */
const NO_STREAM: Stream = {
  path: '',
  maxClients: 0,
  lastEvent: () => 0,
  hasRoom: () => false,
  open: () => {},
}

export interface App {
  readonly fastify: FastifyInstance
  readonly methods: Methods
}

/** Builds the REST API. Order of checks: gate, path and method, token, body, input, route. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { front, stream = NO_STREAM } = options
  const upgrade = createUpgrade({ ...options, stream })
  let handler: RequestListener = () => {}
  const fastify = Fastify({
    serverFactory: (listener) => {
      handler = listener
      return front.server
    },
    frameworkErrors: (error, request, reply) =>
      void sendError(error, request, reply as unknown as Reply, options.log),
    loggerInstance: quiet(options.log),
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: 1_048_576,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 8192 },
  })
  const methods = new Methods()
  methods.watch(fastify)
  compileWhenUsed(fastify)
  fastify.addHook('onRequest', async (request, reply) => {
    void reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
    if (request.is404) throw noSuchRoute(request, reply, methods.allowed(request.url))
  })
  fastify.addHook('onRequest', createAuth(options))
  acceptOnlyJson(fastify)
  readQueriesBySchema(fastify)
  fastify.setErrorHandler((error, request, reply) => sendError(error, request, reply, options.log))
  fastify.setNotFoundHandler(() => undefined) // answered in the first hook, before a body is read
  fastify.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request
    const level = method === 'GET' || method === 'HEAD' ? 'debug' : 'info'
    const ms = Math.round(reply.elapsedTime * 10) / 10
    const route = routeOptions.url ?? 'unknown path'
    const { statusCode: status } = reply
    const where = { request_id: request.id, method, route, status, ms }
    // A change has an audit line, too, which says more.
    options.log[level](
      { ...where, ...(status < 400 && { listed_as: 'debug' }) },
      `${method} ${route} ${status}`,
    )
  })
  serveSwaggerUi(fastify, describeApi(fastify, options))
  serveDocPages(fastify, options)
  serveDashboard(fastify, options, stream.lastEvent)
  for (const page of options.pages ?? []) await fastify.register(named(page))
  for (const routes of options.routes) await fastify.register(named(routes), { prefix: '/api' })
  await fastify.ready()
  front.serve(handler, upgrade)
  return { fastify, methods }
}

/** Fastify looks for a plugin without a name among all loaded modules. */
const named = <T extends object>(routes: T): T =>
  Object.assign(routes, { [Symbol.for('fastify.display-name')]: 'routes' })

type Reply = Parameters<FastifyInstance['errorHandler']>[2]
type Request = Parameters<FastifyInstance['errorHandler']>[1]

function sendError(error: unknown, request: Request, reply: Reply, log: Log) {
  const known = isInvalid(error)
    ? validationError(error, request.body)
    : knownError(error, request.routeOptions.bodyLimit)
  const problem = known ?? unexpected(error)
  const { method } = request
  const where = { request_id: request.id, method, route: request.routeOptions.url }
  // A failing tool server is a warning: Toolroom itself works.
  if (problem.status === 502 || problem.status === 504)
    log.warn({ ...where, code: problem.code }, problem.message)
  else if (problem.status >= 500) log.error({ ...where, error }, 'request failed')
  void reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
  if (problem.status === 401) void reply.header('www-authenticate', 'Token realm="toolroom"')
  if (problem.status === 413) void reply.header('connection', 'close')
  if (problem.retryAfterS !== undefined) void reply.header('retry-after', String(problem.retryAfterS))
  void reply.code(problem.status).type(PROBLEM_TYPE)
  if (method === 'HEAD') return reply.send() // also for a path without GET
  return reply.serializer(JSON.stringify).send(problemOf(problem, request.id))
}

const isInvalid = (error: unknown): error is FastifyError =>
  error instanceof Error && 'validation' in error && error.validation !== undefined

/** 404, or 405 with `Allow` if the path has other methods. */
function noSuchRoute({ method, url }: Request, reply: Reply, allowed: readonly string[]): AppError {
  const path = (url.split('?')[0] ?? '').slice(0, 200)
  if (allowed.length === 0) {
    return new AppError('not_found', `${path} does not exist`, { hint: 'See /docs for all paths' })
  }
  void reply.header('allow', allowed.join(', '))
  return new AppError('method_not_allowed', `${path} does not support ${method}, only ${allowed.join(', ')}`)
}

/** The framework logs warnings and errors only. Requests are logged by the hook above. */
function quiet(log: Log): FastifyBaseLogger {
  const nothing = () => {}
  const lines = {
    ...log,
    level: 'warn',
    silent: nothing,
    trace: nothing,
    debug: nothing,
    info: nothing,
    child: () => lines,
  }
  return lines as unknown as FastifyBaseLogger
}

/** The methods that each path supports, so that a wrong one is answered with 405 and `Allow` instead of 404. */
class Methods {
  readonly #routes: { readonly segments: readonly string[]; readonly method: string }[] = []

  /** Records every route that is registered from now on, in all plugins. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, method }) => {
      for (const one of [method].flat()) this.#routes.push({ segments: segmentsOf(url), method: one })
    })
  }

  allowed(url: string): string[] {
    const segments = segmentsOf(url.split('?')[0] ?? '')
    return [
      ...new Set(this.#routes.filter((route) => fits(route.segments, segments)).map(({ method }) => method)),
    ].sort()
  }

  /** All routes, for tests that must cover each of them. */
  list(): { method: string; url: string }[] {
    return this.#routes.map(({ segments, method }) => ({ method, url: `/${segments.join('/')}` }))
  }
}

/** Ignores one slash at the end, but no empty segment. */
const segmentsOf = (path: string): string[] =>
  path
    .replace(/(?<=.)\/$/, '')
    .split('/')
    .slice(1)

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((part, index) => part.startsWith(':') || part === path[index])
  )
}
