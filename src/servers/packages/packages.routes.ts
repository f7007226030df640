import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../../kernel/errors.ts'
import { AsyncQuery, StartedJob, wholeList } from '../../kernel/wire.ts'
import * as schema from './packages.schema.ts'
import type { Packages, StartedJob as Started } from './packages.service.ts'

const tags = ['Packages']
const LOOK_UP: ErrorCode[] = [
  'package_not_found',
  'registry_failed',
  'registry_refused',
  'registry_unreachable',
  'registry_timeout',
]
const INSTALL: ErrorCode[] = [
  ...LOOK_UP,
  'invalid_package_spec',
  'package_too_new',
  'node_too_old',
  'bin_unclear',
  'server_exists',
  'install_failed',
  'job_cancelled',
  'disk_full',
]
const UPDATE: ErrorCode[] = [...INSTALL, 'update_failed']

const ById = Type.Object({
  id: Type.String({ description: 'The id, or the name', examples: ['playwright-mcp-1a2b3c'] }),
})
const Scoped = Type.Object({
  scope: Type.String({ examples: ['@modelcontextprotocol'] }),
  name: Type.String({ examples: ['server-everything'] }),
})
/** Each route of one package exists twice: by id, and for a name such as `@scope/name` without encoding. */
const PATHS = [
  { path: '/packages/:id', params: ById, by: '' },
  { path: '/packages/:scope/:name', params: Scoped, by: ' by its scoped name' },
]
const keyOf = (params: Static<typeof ById> | Static<typeof Scoped>): string =>
  'id' in params ? params.id : `${params.scope}/${params.name}`

/** `hasToken` tells whether the caller may use the logins of the user's npm. */
export function packageRoutes(
  packages: Packages,
  hasToken: (headers: Readonly<Record<string, unknown>>) => boolean,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = {
      tags,
      summary: 'List installed packages',
      description: 'In the order of their names.',
      response: { 200: schema.PackageList },
    }
    app.get('/packages', { schema: list }, async () => wholeList(await packages.list()))

    const install = {
      tags,
      summary: 'Install an npm package',
      description:
        'Install scripts run only if you allow them. A second request for the same installation joins the running job.',
      querystring: AsyncQuery,
      body: schema.InstallInput,
      response: { 201: schema.Installed, 202: StartedJob },
    }
    app.post(
      '/packages/install-npm',
      { schema: install, config: { errors: INSTALL } },
      async (request, reply) => {
        const started = packages.install(request.body, { request_id: request.id })
        if (request.query.async) return accepted(reply, started)
        const installed = await started.settled
        return reply.code(201).header('location', `/api/packages/${installed.id}`).send(installed)
      },
    )

    const search = {
      tags,
      summary: 'Search the npm registry',
      description:
        'Packages about MCP rank first. A registry without search finds exact names only. `source: "mcp_registry"` searches the MCP Registry.',
      body: schema.SearchInput,
      response: { 200: schema.SearchAnswer },
    }
    app.post(
      '/packages/search',
      { schema: search, config: { errors: [...LOOK_UP, 'search_unavailable'] } },
      (request) => packages.search(request.body, hasToken(request.headers)),
    )

    const refresh = {
      tags,
      summary: 'Ask the registry for newer versions',
      description:
        'Asks for every installed package, within a minute. Installs nothing. A second request joins the running one.',
      response: { 200: schema.RefreshedList },
    }
    app.post('/packages/refresh', { schema: refresh }, async () => wholeList(await packages.refresh()))

    for (const { path, params, by } of PATHS) {
      const get = {
        tags,
        summary: `Get one package${by}`,
        description: 'Its version, programs and the servers that run from it.',
        params,
        response: { 200: schema.PackageView },
      }
      app.get(path, { schema: get }, (request) => packages.view(packages.find(keyOf(request.params))))

      const remove = {
        tags,
        summary: `Uninstall a package${by}`,
        description: 'Refused while servers run from it, unless `force` is set.',
        params,
        querystring: schema.RemoveQuery,
        response: { 204: Type.Null() },
      }
      app.delete(
        path,
        { schema: remove, config: { errors: ['package_not_found', 'package_in_use'] } },
        async (request, reply) => {
          const { force = false } = request.query
          await packages.remove(keyOf(request.params), force, { request_id: request.id })
          return reply.code(204).send(null)
        },
      )

      const update = {
        tags,
        summary: `Update a package${by}`,
        description:
          'Installs the new version beside the old one and starts it on trial. It replaces the old version only if it works; the old version is kept for a rollback.',
        params,
        querystring: schema.UpdateQuery,
        body: Type.Union([schema.UpdateInput, Type.Null()]),
        response: { 200: schema.Updated, 202: StartedJob },
      }
      app.post(`${path}/update`, { schema: update, config: { errors: UPDATE } }, async (request, reply) => {
        const caller = { request_id: request.id }
        const { async: isAsync = false, hold = false } = request.query
        const started = packages.update(keyOf(request.params), request.body?.version, hold, caller)
        if (isAsync || hold) return accepted(reply, started)
        return reply.code(200).send(await started.settled)
      })

      const rollback = {
        tags,
        summary: `Roll a package back${by}`,
        description: 'Returns to the version before the last update.',
        params,
        response: { 200: schema.PackageView },
      }
      app.post(
        `${path}/rollback`,
        { schema: rollback, config: { errors: ['package_not_found', 'nothing_to_roll_back'] } },
        (request) => packages.rollback(keyOf(request.params), { request_id: request.id }),
      )
    }
  }
}

function accepted(reply: Pick<FastifyReply, 'code' | 'header' | 'send'>, { job }: Started<unknown>): never {
  return reply.code(202).header('location', `/api/jobs/${job}`).send({ job }) as never
}
