import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { covers } from '../../../test/support/covers.ts'
import { mayJunction } from '../../../test/support/home-env.ts'
import {
  houseWithRegistry,
  install,
  installed,
  packageFolders,
  packages,
} from '../../../test/support/packages.ts'
import { toolPackage } from '../../../test/support/registry/registry.ts'
import { AUTHORISED } from '../../../test/support/test-service.ts'
import type { JobView } from '../jobs/jobs.routes.ts'
import type { ServerView } from '../stdio/servers.schema.ts'
import type { PackageView, RefreshedPackage, SearchAnswer, Updated } from './packages.schema.ts'

const post = (
  service: Awaited<ReturnType<typeof houseWithRegistry>>['service'],
  url: string,
  payload?: object,
) => service.inject({ method: 'POST', url, headers: AUTHORISED, ...(payload && { payload }) })

describe('installing', () => {
  test('a package is installed, listed, run as a server, and uninstalled', async () => {
    covers('packages-list', 'packages-install', 'packages-uninstall', 'does-packages')
    const { service } = await houseWithRegistry([
      toolPackage('@acme/notes-mcp', '1.2.0', { tools: ['add', 'find'] }),
    ])
    const report = await install(service, { name: '@acme/notes-mcp', create_server: true })
    expect(report).toMatchObject({
      name: '@acme/notes-mcp',
      version: '1.2.0',
      requested: 'latest',
      status: 'installed',
      bin: { 'notes-mcp': 'server.mjs' },
      license: 'MIT',
      integrity: expect.stringMatching(/^sha512-/),
      update_available: false,
      used_by: ['notes'],
      server: { id: 'notes', status: 'running', error: null },
    })
    expect(report.id).toMatch(/^acme-notes-mcp-[0-9a-f]{6}$/)
    const server = (await service.inject('/api/servers/notes')).json<ServerView>()
    expect(server).toMatchObject({
      package: '@acme/notes-mcp',
      command: 'notes-mcp',
      status: 'running',
      tool_count: 2,
    })
    expect(await installed(service)).toHaveLength(1)
    const inUse = await packages<{ servers: string[] }>(service, 'DELETE', `/${report.id}`)
    expect(inUse).toMatchObject({ status: 409, body: { code: 'package_in_use', servers: ['notes'] } })
    await service.inject({ method: 'DELETE', url: '/api/servers/notes', headers: AUTHORISED })
    expect((await packages(service, 'DELETE', '/@acme/notes-mcp')).status).toBe(204)
    expect(await installed(service)).toEqual([])
    expect(packageFolders(service.data)).toEqual([])
  })

  test('a package is found and uninstalled by id, name and encoded name; an unknown one is 404', async () => {
    covers('packages-uninstall')
    const { service } = await houseWithRegistry([toolPackage('@acme/a'), toolPackage('plain')])
    for (const key of ['%40acme%2Fa', '@acme%2Fa', '@acme/a']) {
      const { id } = await install(service, { name: '@acme/a' })
      expect((await packages<PackageView>(service, 'GET', `/${id}`)).body.name).toBe('@acme/a')
      expect((await packages(service, 'DELETE', `/${key}`)).status, key).toBe(204)
    }
    const { id } = await install(service, { name: 'plain' })
    expect(id).toBe('plain')
    expect((await packages(service, 'DELETE', '/plain')).status).toBe(204)
    expect((await packages(service, 'DELETE', '/plain')).status).toBe(404)
  })

  test('install scripts are skipped and listed, and run only when allowed', async () => {
    const { service, home } = await houseWithRegistry([
      toolPackage('scripted', '1.0.0', { postinstall: true }),
      toolPackage('outer', '1.0.0', { manifest: { dependencies: { scripted: '1.0.0' } } }),
    ])
    expect(await install(service, { name: 'outer' })).toMatchObject({
      has_install_scripts: true,
      scripts_skipped: ['scripted'],
    })
    expect(existsSync(join(home, 'canary'))).toBe(false)
    expect(await install(service, { name: 'scripted', allow_scripts: true })).toMatchObject({
      scripts_skipped: [],
    })
    expect(readFileSync(join(home, 'canary'), 'utf8')).toContain('ran')
  })

  test("a package is installed although a server's environment contains the address of the registry", async () => {
    const { service, registry } = await houseWithRegistry([toolPackage('plain')])
    const env = { npm_config_registry: registry.url }
    const server = { name: 'other', command: 'npx', start_mode: 'manual', env }
    expect((await post(service, '/api/servers', server)).statusCode).toBe(201)
    expect(await install(service, { name: 'plain' })).toMatchObject({ status: 'installed' })
  })

  test('twenty identical requests at once share one job, and npm runs once', async () => {
    const { service, registry } = await houseWithRegistry([toolPackage('popular')])
    const all = await Promise.all(Array.from({ length: 20 }, () => install(service, { name: 'popular' })))
    expect(new Set(all.map(({ installed_at }) => installed_at)).size).toBe(1)
    const { items } = (await service.inject({ url: '/api/jobs', headers: AUTHORISED })).json<{
      items: JobView[]
    }>()
    expect(items).toHaveLength(1)
    expect(registry.requests.filter(({ path }) => path.endsWith('.tgz'))).toHaveLength(1)
  })

  test.each([
    ['silent', 'resolving'],
    ['silent_tarball', 'installing'],
  ] as const)(
    'a job can be followed and cancelled while the registry is %s, and leaves nothing behind',
    async (fault, phase) => {
      const { service, registry } = await houseWithRegistry([toolPackage('slow')])
      registry.faults.set('slow', fault)
      const accepted = await post(service, '/api/packages/install-npm?async=true', { name: 'slow' })
      expect(accepted.statusCode).toBe(202)
      const { job } = accepted.json<{ job: string }>()
      expect(accepted.headers.location).toBe(`/api/jobs/${job}`)
      const state = async () =>
        (await service.inject({ url: `/api/jobs/${job}`, headers: AUTHORISED })).json<JobView>()
      await expect.poll(async () => (await state()).phase).toBe(phase)
      const cancelled = (await post(service, `/api/jobs/${job}/cancel`)).json<JobView>()
      expect(cancelled).toMatchObject({ status: 'cancelled', error: { code: 'job_cancelled' } })
      expect(await installed(service)).toEqual([])
      expect(packageFolders(service.data)).toEqual([])
      registry.faults.delete('slow')
      expect(await install(service, { name: 'slow' })).toMatchObject({ status: 'installed' })
    },
  )

  test('a package with several programs needs bin, and one without programs cannot be a server', async () => {
    const { service } = await houseWithRegistry([
      toolPackage('two', '1.0.0', { bin: 'two' }),
      toolPackage('none', '1.0.0', { bin: 'none' }),
    ])
    const unclear = await packages<{ bins: string[] }>(service, 'POST', '/install-npm', {
      name: 'two',
      create_server: true,
    })
    expect(unclear).toMatchObject({ status: 409, body: { code: 'bin_unclear', bins: ['two-a', 'two-b'] } })
    expect(await install(service, { name: 'two', create_server: true, bin: 'two-b' })).toMatchObject({
      server: { status: 'running' },
    })
    expect(
      await packages(service, 'POST', '/install-npm', { name: 'none', create_server: true }),
    ).toMatchObject({ status: 409 })
    const named = await post(service, '/api/servers', { name: 'x', package: 'unknown' })
    expect(named.statusCode).toBe(404)
    expect((await post(service, '/api/servers', { name: 'x' })).statusCode).toBe(422)
  })

  test('each fault of the registry has its error code, and no incomplete package is listed', async () => {
    const names = ['gone', 'closed', 'broken', 'torn', 'forged', 'odd'] as const
    const { service, registry } = await houseWithRegistry(names.map((name) => toolPackage(name)))
    const faults = {
      gone: ['not_found', 404, 'package_not_found'],
      closed: ['unauthorized', 502, 'registry_refused'],
      broken: ['server_error', 502, 'registry_failed'],
      torn: ['truncated_tarball', 502, 'registry_unreachable'],
      forged: ['wrong_integrity', 502, 'install_failed'],
      odd: ['not_json', 502, 'registry_failed'],
    } as const
    const tried = names.map(async (name) => {
      const [fault, status, code] = faults[name]
      registry.faults.set(name, fault)
      const refused = await packages(service, 'POST', '/install-npm', { name })
      expect(refused, name).toMatchObject({ status, body: { code } })
    })
    await Promise.all(tried)
    expect(
      await packages(service, 'POST', '/install-npm', { name: 'unknown', version: '1.0.0' }),
    ).toMatchObject({ status: 404 })
    expect(await installed(service)).toEqual([])
    expect(packageFolders(service.data)).toEqual([])
  })

  test('a deprecated package has a warning, and latest falls back to the newest version for this Node', async () => {
    const { service } = await houseWithRegistry([
      toolPackage('old', '1.0.0', { deprecated: 'use new' }),
      toolPackage('modern', '1.0.0'),
      toolPackage('modern', '2.0.0', { manifest: { engines: { node: '>=99' } } }),
    ])
    expect(await install(service, { name: 'old' })).toMatchObject({
      deprecated: 'use new',
      warnings: [expect.stringContaining('deprecated')],
    })
    expect(await install(service, { name: 'modern' })).toMatchObject({
      version: '1.0.0',
      latest: '2.0.0',
      update_available: true,
    })
    expect(
      await packages(service, 'POST', '/install-npm', { name: 'modern', version: '2.0.0' }),
    ).toMatchObject({ status: 409, body: { code: 'node_too_old' } })
  })
})

describe('consistency', () => {
  test('a server runs again after its package was force-uninstalled and reinstalled, and a broken package is repaired', async () => {
    const { service } = await houseWithRegistry([
      toolPackage('comes', '1.0.0'),
      toolPackage('comes', '1.1.0'),
    ])
    await install(service, { name: 'comes', version: '1.0.0', create_server: true })
    expect((await packages(service, 'DELETE', '/comes?force=true')).status).toBe(204)
    expect((await post(service, '/api/servers/comes/restart')).json()).toMatchObject({
      code: 'package_not_found',
      detail: "'comes': The package 'comes' is not installed",
    })
    await install(service, { name: 'comes', version: '1.1.0' })
    expect((await post(service, '/api/servers/comes/restart')).statusCode).toBe(200)
    const [{ path = '' } = {}] = await installed(service)
    rmSync(path, { recursive: true })
    expect(await installed(service)).toMatchObject([{ status: 'broken' }])
    expect(await install(service, { name: 'comes', version: '1.1.0' })).toMatchObject({ status: 'installed' })
    expect(readdirSync(join(service.data, 'packages/.staging'))).toEqual([])
  })

  test('a package whose server cannot be created is not installed', async () => {
    const { service } = await houseWithRegistry([toolPackage('library', '1.0.0', { bin: 'none' })])
    const refused = await packages(service, 'POST', '/install-npm', { name: 'library', create_server: true })
    expect(refused).toMatchObject({ status: 409, body: { code: 'bin_unclear' } })
    expect(await installed(service)).toEqual([])
  })

  test.runIf(mayJunction)('the path in an agent entry leads to the new version after an update', async () => {
    const { service, registry, home } = await houseWithRegistry([toolPackage('shared', '1.0.0')])
    await install(service, { name: 'shared', create_server: true })
    put(home, '.cursor/mcp.json', '{}')
    await done(service, 'PUT', '/cursor/servers', { server_ids: ['shared'] })
    const file = JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.shared.args[0]
    for (const version of ['1.1.0', '1.2.0']) {
      registry.publish(toolPackage('shared', version))
      expect((await packages(service, 'POST', '/shared/update')).status).toBe(200)
      expect(readFileSync(file, 'utf8')).toContain(version)
    }
  })
})

describe('updating', () => {
  test('an update switches to a version that starts, reports changed tools, and can be rolled back', async () => {
    const { service, registry } = await houseWithRegistry([
      toolPackage('grows', '1.0.0', { tools: ['a', 'b'] }),
    ])
    await install(service, { name: 'grows', create_server: true })
    registry.publish(toolPackage('grows', '1.1.0', { tools: ['b', 'c'] }))
    const { status, body } = await packages<Updated>(service, 'POST', '/grows/update')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({
      version: '1.1.0',
      from_version: '1.0.0',
      previous_version: '1.0.0',
      tools: { added: ['c'], removed: ['a'] },
      tried_with: ['grows'],
    })
    await expect
      .poll(async () =>
        (await service.inject('/api/servers/grows/tools'))
          .json()
          .items?.map((tool: { name: string }) => tool.name),
      )
      .toEqual(['b', 'c'])
    expect((await packages<PackageView>(service, 'POST', '/grows/rollback')).body).toMatchObject({
      version: '1.0.0',
      previous_version: '1.1.0',
    })
    await expect
      .poll(async () =>
        (await service.inject('/api/servers/grows/tools'))
          .json()
          .items?.map((tool: { name: string }) => tool.name),
      )
      .toEqual(['a', 'b'])
  })

  test('an update with hold waits with the difference of the tools, and replaces the version only when it is continued', async () => {
    const { service, registry } = await houseWithRegistry([
      toolPackage('held', '1.0.0', { tools: ['a', 'b'] }),
    ])
    await install(service, { name: 'held', create_server: true })
    registry.publish(toolPackage('held', '1.1.0', { tools: ['b', 'c'] }))
    const jobs = async (path: string, method: 'GET' | 'POST' = 'POST') =>
      (await service.inject({ method, url: `/api/jobs/${path}`, headers: AUTHORISED })).json()
    const waiting = async () => {
      const accepted = await packages<{ job: string }>(service, 'POST', '/held/update?hold=true')
      expect(accepted.status).toBe(202)
      const { job } = accepted.body
      await expect.poll(async () => (await jobs(job, 'GET')).phase, { timeout: 30_000 }).toBe('waiting')
      return job
    }
    const version = async () => (await installed(service))[0]?.version

    const first = await waiting()
    const { phases } = (await jobs(first, 'GET')) as JobView
    expect(phases.map(({ name }) => name)).toEqual([
      'resolving',
      'installing',
      'checking',
      'trying',
      'waiting',
    ])
    expect(phases.slice(0, -1).every(({ finished_at }) => finished_at !== null)).toBe(true)
    const tools = { added: ['c'], removed: ['a'], changed: [] }
    expect(phases.at(-1)).toMatchObject({ finished_at: null, detail: { from: '1.0.0', to: '1.1.0', tools } })
    expect(await version()).toBe('1.0.0')
    expect(await jobs(`${first}/cancel`)).toMatchObject({ status: 'cancelled' })
    expect(await version()).toBe('1.0.0')
    expect(readdirSync(join(service.data, 'packages/.staging'))).toEqual([])
    expect(await jobs(`${first}/continue`)).toMatchObject({ status: 409, code: 'job_not_waiting' })

    const second = await waiting()
    expect(await jobs(`${second}/continue`)).toMatchObject({ status: 'running', phase: 'continuing' })
    await expect.poll(async () => (await jobs(second, 'GET')).status).toBe('done')
    expect(await jobs(second, 'GET')).toMatchObject({ result: { version: '1.1.0', tools } })
    expect(await version()).toBe('1.1.0')

    registry.publish(toolPackage('held', '1.2.0'))
    const third = await waiting()
    expect((await packages(service, 'POST', '/held/rollback')).status).toBe(200) // is not kept waiting
    await jobs(`${third}/continue`)
    await expect.poll(async () => (await jobs(third, 'GET')).status).toBe('failed')
    expect(await jobs(third, 'GET')).toMatchObject({ error: { code: 'update_failed' } })
    expect(await version()).toBe('1.0.0')
  })

  test('a refresh finds newer and deprecated versions, names those that it could not ask for, and installs nothing', async () => {
    const { service, registry } = await houseWithRegistry([
      toolPackage('fresh', '1.0.0'),
      toolPackage('gone', '1.0.0'),
    ])
    for (const name of ['fresh', 'gone']) await install(service, { name })
    registry.publish(toolPackage('fresh', '1.0.0', { deprecated: 'use 2' }))
    registry.publish(toolPackage('fresh', '2.0.0'))
    registry.faults.set('gone', 'server_error')
    const refresh = () => packages<{ items: RefreshedPackage[] }>(service, 'POST', '/refresh')
    const [one, other] = await Promise.all([refresh(), refresh()])
    expect(one).toEqual(other)
    expect(one.body.items).toMatchObject([
      {
        name: 'fresh',
        version: '1.0.0',
        latest: '2.0.0',
        update_available: true,
        deprecated: 'use 2',
        error: null,
      },
      { name: 'gone', update_available: false, error: expect.stringContaining('registry') },
    ])
    await refresh()
    expect(await installed(service)).toMatchObject([
      { latest: '2.0.0', deprecated: 'use 2' },
      { version: '1.0.0' },
    ])
    const notices = async () =>
      (await service.inject('/api/notices')).json().items.map(({ kind }: { kind: string }) => kind)
    await expect
      .poll(notices, { timeout: 10_000 })
      .toEqual(expect.arrayContaining(['package_update', 'package_deprecated']))
    expect((await service.inject({ method: 'POST', url: '/api/packages/refresh' })).statusCode).toBe(401)
  })

  test('an update to a version that does not start changes nothing and fails with the reason', async () => {
    const { service, registry } = await houseWithRegistry([toolPackage('fragile', '1.0.0')])
    await install(service, { name: 'fragile', create_server: true })
    const { pid } = (await service.inject('/api/servers/fragile')).json<ServerView>()
    registry.publish(toolPackage('fragile', '2.0.0', { crash: true }))
    const failed = await packages<{ detail: string }>(service, 'POST', '/fragile/update')
    expect(failed).toMatchObject({ status: 502, body: { code: 'update_failed' } })
    expect(failed.body.detail).toContain('the package is broken')
    expect((await service.inject('/api/servers/fragile')).json<ServerView>()).toMatchObject({
      status: 'running',
      pid,
    })
    expect(await installed(service)).toMatchObject([{ version: '1.0.0', previous_version: null }])
    expect(await packages(service, 'POST', '/fragile/rollback')).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_roll_back' },
    })
  })
})

describe('searching', () => {
  test('a search without token finds packages by keyword and marks installed ones', async () => {
    covers('packages-search', 'open-auth-packages-search')
    const { service } = await houseWithRegistry([
      toolPackage('weather-mcp', '1.0.0'),
      toolPackage('weather', '9.0.0', { manifest: { keywords: ['sky'], description: 'Plain weather' } }),
    ])
    await install(service, { name: 'weather-mcp' })
    const reply = await service.inject({
      method: 'POST',
      url: '/api/packages/search',
      payload: { query: 'weather', mcp_only: true },
    })
    expect(reply.statusCode, reply.body).toBe(200)
    const { items } = reply.json<SearchAnswer>()
    expect(items.map(({ name, installed: version }) => [name, version])).toEqual([['weather-mcp', '1.0.0']])
    expect(items[0]?.trust.map(({ state }) => state)).not.toContain('no')
  })

  test('a registry without search is search_unavailable, except for exact names', async () => {
    const { service } = await houseWithRegistry([toolPackage('weather-mcp')], {}, { search: 'off' })
    const none = await packages(service, 'POST', '/search', { query: 'good weather' })
    expect(none).toMatchObject({
      status: 502,
      body: { code: 'search_unavailable', hint: expect.stringContaining('exact package name') },
    })
    const exact = await packages<SearchAnswer>(service, 'POST', '/search', { query: 'weather-mcp' })
    expect(exact.body).toMatchObject({ search_available: false, items: [{ name: 'weather-mcp' }] })
    expect(await install(service, { name: 'weather-mcp' })).toMatchObject({ version: '1.0.0' })
  })
})
