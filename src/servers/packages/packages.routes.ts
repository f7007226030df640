import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import * as Type from 'typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import {
  AsyncQuery,
  callerOf,
  NO_CONTENT,
  operationsOf,
  StartedJob,
  wholeList,
} from '../../kernel/rest-parts.ts'
import { text } from '../../kernel/schema-fields.ts'
import * as schema from './packages.schema.ts'
import type { Packages, StartedJob as Started } from './packages.service.ts'

const operation = operationsOf('Packages')
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

const ById = Type.Object({ id: text('The id, or the name', { examples: ['playwright-mcp-1a2b3c'] }) })
const Scoped = Type.Object({
  scope: Type.String({ examples: ['@modelcontextprotocol'] }),
  name: Type.String({ examples: ['server-everything'] }),
})
/** Each route of one package exists twice: by id, and for a name such as `@scope/name` without encoding. */
const PATHS = [
  { path: '/packages/:id', params: ById, by: '' },
  { path: '/packages/:scope/:name', params: Scoped, by: ' by its scoped name' },
]
const keyOf = (params: Type.Static<typeof ById> | Type.Static<typeof Scoped>): string =>
  'id' in params ? params.id : `${params.scope}/${params.name}`

/** `hasToken` tells whether the caller may use the logins of the user's npm. */
export function packageRoutes(
  packages: Packages,
  hasToken: (headers: Readonly<Record<string, unknown>>) => boolean,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = operation('List installed packages', 'In the order of their names.', {
      response: { 200: schema.PackageList },
    })
    app.get('/packages', list, async () => wholeList(await packages.list()))

    const install = operation(
      'Install an npm package',
      'Install scripts run only if you allow them. A second request for the same installation joins the running job.',
      {
        querystring: AsyncQuery,
        body: schema.InstallInput,
        response: { 201: schema.Installed, 202: StartedJob },
        errors: INSTALL,
      },
    )
    app.post('/packages/install-npm', install, async (request, reply) => {
      const started = packages.install(request.body, callerOf(request))
      if (request.query.async) return accepted(reply, started)
      const installed = await started.settled
      return reply.code(201).header('location', `/api/packages/${installed.id}`).send(installed)
    })

    const search = operation(
      'Search the npm registry',
      'Packages about MCP rank first. A registry without search finds exact names only. `source: "mcp_registry"` searches the MCP Registry.',
      {
        body: schema.SearchInput,
        response: { 200: schema.SearchAnswer },
        errors: [...LOOK_UP, 'search_unavailable'],
      },
    )
    app.post('/packages/search', search, (request) =>
      packages.search(request.body, hasToken(request.headers)),
    )

    const refresh = operation(
      'Ask the registry for newer versions',
      'Asks for every installed package, within a minute. Installs nothing. A second request joins the running one.',
      { response: { 200: schema.RefreshedList } },
    )
    app.post('/packages/refresh', refresh, async () => wholeList(await packages.refresh()))

    for (const { path, params, by } of PATHS) {
      const get = operation(
        `Get one package${by}`,
        'Its version, programs and the servers that run from it.',
        { params, response: { 200: schema.PackageView } },
      )
      app.get(path, get, (request) => packages.view(packages.find(keyOf(request.params))))

      const remove = operation(
        `Uninstall a package${by}`,
        'Refused while servers run from it, unless `force` is set.',
        {
          params,
          querystring: schema.RemoveQuery,
          response: NO_CONTENT,
          errors: ['package_not_found', 'package_in_use'],
        },
      )
      app.delete(path, remove, async (request, reply) => {
        const { force = false } = request.query
        await packages.remove(keyOf(request.params), force, callerOf(request))
        return reply.code(204).send(null)
      })

      const update = operation(
        `Update a package${by}`,
        'Installs the new version beside the old one and starts it on trial. It replaces the old version only if it works; the old version is kept for a rollback.',
        {
          params,
          querystring: schema.UpdateQuery,
          body: Type.Union([schema.UpdateInput, Type.Null()]),
          response: { 200: schema.Updated, 202: StartedJob },
          errors: UPDATE,
        },
      )
      app.post(`${path}/update`, update, async (request, reply) => {
        const caller = callerOf(request)
        const { async: isAsync = false, hold = false } = request.query
        const started = packages.update(keyOf(request.params), request.body?.version, hold, caller)
        if (isAsync || hold) return accepted(reply, started)
        return reply.code(200).send(await started.settled)
      })

      const rollback = operation(
        `Roll a package back${by}`,
        'Returns to the version before the last update.',
        {
          params,
          response: { 200: schema.PackageView },
          errors: ['package_not_found', 'nothing_to_roll_back'],
        },
      )
      app.post(`${path}/rollback`, rollback, (request) =>
        packages.rollback(keyOf(request.params), callerOf(request)),
      )
    }
  }
}

function accepted(reply: Pick<FastifyReply, 'code' | 'header' | 'send'>, { job }: Started<unknown>): never {
  return reply.code(202).header('location', `/api/jobs/${job}`).send({ job }) as never
}
