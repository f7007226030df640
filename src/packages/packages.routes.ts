import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import * as Type from 'typebox'
import type { ErrorCode } from '../kernel/errors.ts'
import { wholeList } from '../kernel/wire.ts'
import * as schema from './packages.schema.ts'
import type { Packages, UnderWay } from './packages.service.ts'

const tags = ['Packages']
const params = Type.Object({
  id: Type.String({ description: 'The id, or the name', examples: ['playwright-mcp-1a2b3c'] }),
})
/** `@scope/name`, written as it is. */
const Scoped = Type.Object({
  scope: Type.String({ examples: ['@modelcontextprotocol'] }),
  name: Type.String({ examples: ['server-everything'] }),
})
const nameOf = ({ scope, name }: { scope: string; name: string }) => `${scope}/${name}`
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
const Accepted = Type.Object({ job: Type.String({ examples: ['job_0123456789ab'] }) })

/** `hasToken` says whether the caller may use the logins of the user's npm. */
export function packageRoutes(
  packages: Packages,
  hasToken: (headers: Readonly<Record<string, unknown>>) => boolean,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const list = { tags, summary: 'List installed packages', response: { 200: schema.PackageList } }
    app.get('/packages', { schema: list }, async () => wholeList(await packages.list()))

    const install = {
      tags,
      summary: 'Install an npm package',
      description:
        'Install scripts are not run unless you allow it. Asking twice joins the job that is under way.',
      querystring: schema.AsyncQuery,
      body: schema.InstallInput,
      response: { 201: schema.Installed, 202: Accepted },
    }
    app.post(
      '/packages/install-npm',
      { schema: install, config: { errors: INSTALL } },
      async (request, reply) => {
        const underWay = packages.install(request.body, { request_id: request.id })
        if (request.query.async) return accepted(reply, underWay)
        const installed = await underWay.settled
        return reply.code(201).header('location', `/api/packages/${installed.id}`).send(installed)
      },
    )

    const search = {
      tags,
      summary: 'Search the npm registry',
      description:
        'Ranked by how much it is about MCP. Where the registry has no search, exact names are found. `source: "mcp_registry"` asks the MCP Registry.',
      body: schema.SearchInput,
      response: { 200: schema.SearchAnswer },
    }
    app.post(
      '/packages/search',
      { schema: search, config: { errors: [...LOOK_UP, 'search_unavailable'] } },
      (request) => packages.search(request.body, hasToken(request.headers)),
    )

    const get = { tags, summary: 'Get one package', params, response: { 200: schema.PackageView } }
    app.get('/packages/:id', { schema: get }, (request) => packages.view(packages.find(request.params.id)))
    const getScoped = { ...get, summary: 'Get one package by its name with a scope', params: Scoped }
    app.get('/packages/:scope/:name', { schema: getScoped }, (request) =>
      packages.view(packages.find(nameOf(request.params))),
    )

    const remove = {
      tags,
      summary: 'Uninstall a package',
      params,
      querystring: schema.RemoveQuery,
      response: { 204: Type.Null() },
    }
    app.delete(
      '/packages/:id',
      { schema: remove, config: { errors: ['package_not_found', 'package_in_use'] } },
      async (request, reply) => {
        await packages.remove(request.params.id, request.query.force ?? false, { request_id: request.id })
        return reply.code(204).send(null)
      },
    )

    const removeScoped = {
      ...remove,
      summary: 'Uninstall a package by its name with a scope',
      params: Scoped,
    }
    app.delete(
      '/packages/:scope/:name',
      { schema: removeScoped, config: { errors: ['package_not_found', 'package_in_use'] } },
      async (request, reply) => {
        await packages.remove(nameOf(request.params), request.query.force ?? false, {
          request_id: request.id,
        })
        return reply.code(204).send(null)
      },
    )

    const update = {
      tags,
      summary: 'Update a package',
      description:
        'The new version is installed beside the old one and started on trial. Only when it works does it take over; the old one is kept for a rollback.',
      params,
      querystring: schema.AsyncQuery,
      body: Type.Union([schema.UpdateInput, Type.Null()]),
      response: { 200: schema.Updated, 202: Accepted },
    }
    app.post(
      '/packages/:id/update',
      { schema: update, config: { errors: UPDATE } },
      async (request, reply) => {
        const underWay = packages.update(request.params.id, request.body?.version, { request_id: request.id })
        if (request.query.async) return accepted(reply, underWay)
        return reply.code(200).send(await underWay.settled)
      },
    )

    const updateScoped = { ...update, summary: 'Update a package by its name with a scope', params: Scoped }
    app.post(
      '/packages/:scope/:name/update',
      { schema: updateScoped, config: { errors: UPDATE } },
      async (request, reply) => {
        const by = { request_id: request.id }
        const underWay = packages.update(nameOf(request.params), request.body?.version, by)
        if (request.query.async) return accepted(reply, underWay)
        return reply.code(200).send(await underWay.settled)
      },
    )

    const rollback = {
      tags,
      summary: 'Go back to the version before',
      params,
      response: { 200: schema.PackageView },
    }
    app.post(
      '/packages/:id/rollback',
      { schema: rollback, config: { errors: ['package_not_found', 'nothing_to_roll_back'] } },
      (request) => packages.rollback(request.params.id, { request_id: request.id }),
    )

    const rollbackScoped = { ...rollback, summary: 'Go back, by the name with a scope', params: Scoped }
    app.post(
      '/packages/:scope/:name/rollback',
      { schema: rollbackScoped, config: { errors: ['package_not_found', 'nothing_to_roll_back'] } },
      (request) => packages.rollback(nameOf(request.params), { request_id: request.id }),
    )
  }
}

function accepted(reply: Pick<FastifyReply, 'code' | 'header' | 'send'>, { job }: UnderWay<unknown>): never {
  return reply.code(202).header('location', `/api/jobs/${job}`).send({ job }) as never
}
