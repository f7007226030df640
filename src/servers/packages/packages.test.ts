import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { done, put, textOf } from '../../../test/support/agents.ts'
import { covers } from '../../../test/support/covers.ts'
import { some } from '../../../test/support/full-or-short.ts'
import { mayJunction } from '../../../test/support/home-env.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import {
  houseWithRegistry,
  install,
  installed,
  packageFolders,
  packages,
} from '../../../test/support/packages.ts'
import { toolPackage } from '../../../test/support/registry/registry.ts'
import { get } from '../../../test/support/running-servers.ts'
import { AUTHORISED, type TestService } from '../../../test/support/test-service.ts'
import type { JobView } from '../jobs/jobs.routes.ts'
import type { ServerView } from '../stdio/servers.schema.ts'
import type { PackageView, RefreshedPackage, SearchAnswer, Updated } from './packages.schema.ts'

/** One service for the file, because each asks npm for its version and its settings. The packages of a test are its own. */
const opened = sharedByTests(() => houseWithRegistry([]))

async function houseWith(...given: Parameters<typeof toolPackage>[]) {
  const { service, registry, home } = await opened()
  for (const one of given) registry.publish(toolPackage(...one))
  return { service, registry, home }
}

const post = (service: TestService, url: string, payload?: object) =>
  service.inject({ method: 'POST', url, headers: AUTHORISED, ...(payload && { payload }) })

const named = async (service: TestService, ...names: string[]) =>
  (await installed(service)).filter(({ name }) => names.includes(name))

/** Everything that is left of these packages, and of installs that did not end. */
const foldersOf = (service: TestService, ...ids: string[]) =>
  packageFolders(service.data).filter((name) => name === '.staging' || ids.includes(name))

describe('installing', () => {
  test('a package is installed, listed, run as a server, and uninstalled', async () => {
    covers('packages-list', 'packages-install', 'packages-uninstall', 'does-packages')
    const { service } = await houseWith(['@acme/notes-mcp', '1.2.0', { tools: ['add', 'find'] }])
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
    expect(await named(service, '@acme/notes-mcp')).toHaveLength(1)
    const inUse = await packages<{ servers: string[] }>(service, 'DELETE', `/${report.id}`)
    expect(inUse).toMatchObject({ status: 409, body: { code: 'package_in_use', servers: ['notes'] } })
    await service.inject({ method: 'DELETE', url: '/api/servers/notes', headers: AUTHORISED })
    expect((await packages(service, 'DELETE', '/@acme/notes-mcp')).status).toBe(204)
    expect(await named(service, '@acme/notes-mcp')).toEqual([])
    expect(foldersOf(service, report.id)).toEqual([])
  })

  test("a package is installed although a server's environment contains the address of the registry", async () => {
    const { service, registry } = await houseWith(['plain'])
    const env = { npm_config_registry: registry.url }
    const server = { name: 'other', command: 'npx', start_mode: 'manual', env }
    expect((await post(service, '/api/servers', server)).statusCode).toBe(201)
    expect(await install(service, { name: 'plain' })).toMatchObject({ status: 'installed' })
    await service.inject({ method: 'DELETE', url: '/api/servers/other', headers: AUTHORISED })
  })

  test('a package is found and uninstalled by id, name and encoded name; an unknown one is 404', async () => {
    covers('packages-uninstall')
    const { service } = await houseWith(['@acme/a'], ['plain'])
    const keys = ['%40acme%2Fa', '@acme%2Fa', '@acme/a']
    for (const key of some(keys, 3)) {
      const { id } = await install(service, { name: '@acme/a' })
      for (const each of [id, ...keys])
        expect((await packages<PackageView>(service, 'GET', `/${each}`)).body.name, each).toBe('@acme/a')
      expect((await packages(service, 'DELETE', `/${key}`)).status, key).toBe(204)
    }
    const { id } = await install(service, { name: 'plain' })
    expect(id).toBe('plain')
    expect((await packages(service, 'DELETE', '/plain')).status).toBe(204)
    expect((await packages(service, 'DELETE', '/plain')).status).toBe(404)
  })

  test('install scripts are skipped and listed, and run only when allowed', async () => {
    const { service, home } = await houseWith(
      ['scripted', '1.0.0', { postinstall: true }],
      ['outer', '1.0.0', { manifest: { dependencies: { scripted: '1.0.0' } } }],
    )
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

  test('twenty identical requests at once share one job, and npm runs once', async () => {
    const { service, registry } = await houseWith(['popular'])
    const all = await Promise.all(Array.from({ length: 20 }, () => install(service, { name: 'popular' })))
    expect(new Set(all.map(({ installed_at }) => installed_at)).size).toBe(1)
    const { items } = (await service.inject({ url: '/api/jobs', headers: AUTHORISED })).json<{
      items: JobView[]
    }>()
    expect(items.filter(({ subject }) => subject === 'popular')).toHaveLength(1)
    expect(registry.requests.filter(({ path }) => path.endsWith('popular-1.0.0.tgz'))).toHaveLength(1)
  })

  test('a job can be followed and cancelled while the registry is silent, and leaves nothing behind', async () => {
    const { service, registry } = await houseWith(['slow'])
    const silences = [
      ['silent', 'resolving'],
      ['silent_tarball', 'installing'],
    ] as const
    for (const [fault, phase] of silences) {
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
      expect(await named(service, 'slow')).toEqual([])
      expect(foldersOf(service, 'slow')).toEqual([])
    }
    registry.faults.delete('slow')
    expect(await install(service, { name: 'slow' })).toMatchObject({ status: 'installed' })
  })

  test('a package with several programs needs bin, and one without programs cannot be a server and is not installed', async () => {
    const { service } = await houseWith(['two', '1.0.0', { bin: 'two' }], ['none', '1.0.0', { bin: 'none' }])
    expect(await install(service, { name: 'two', create_server: true, bin: 'two-b' })).toMatchObject({
      server: { status: 'running' },
    })
    const unclear = await packages<{ bins: string[] }>(service, 'POST', '/install-npm', {
      name: 'two',
      create_server: true,
    })
    expect(unclear).toMatchObject({ status: 409, body: { code: 'bin_unclear', bins: ['two-a', 'two-b'] } })
    const refused = await packages(service, 'POST', '/install-npm', { name: 'none', create_server: true })
    expect(refused).toMatchObject({ status: 409, body: { code: 'bin_unclear' } })
    expect(await named(service, 'none')).toEqual([])
    expect(foldersOf(service, 'none')).toEqual([])
    const unknown = await post(service, '/api/servers', { name: 'x', package: 'unknown' })
    expect(unknown.statusCode).toBe(404)
    expect((await post(service, '/api/servers', { name: 'x' })).statusCode).toBe(422)
  })

  test('each fault of the registry has its error code, and no incomplete package is listed', async () => {
    const names = ['gone', 'closed', 'broken', 'torn', 'forged', 'odd'] as const
    const { service, registry } = await houseWith(...names.map((name): [string] => [name]))
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
    expect(await named(service, ...names)).toEqual([])
    expect(foldersOf(service, ...names)).toEqual([])
  })

  test('a deprecated package has a warning, and latest falls back to the newest version for this Node', async () => {
    const { service } = await houseWith(
      ['old', '1.0.0', { deprecated: 'use new' }],
      ['modern', '1.0.0'],
      ['modern', '2.0.0', { manifest: { engines: { node: '>=99' } } }],
    )
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

describe('updating', () => {
  /** In version 1.0.0 and with a running server. Each test leaves it like this, and publishes newer versions than the last. */
  async function houseWithGrows(
    ...versions: [version: string, options: Parameters<typeof toolPackage>[2]][]
  ) {
    const { service, registry, home } = await opened()
    if ((await named(service, 'grows')).length === 0) {
      registry.publish(toolPackage('grows', '1.0.0', { tools: ['a', 'b'] }))
      await install(service, { name: 'grows', create_server: true })
    }
    for (const [version, options] of versions) registry.publish(toolPackage('grows', version, options))
    return { service, registry, home }
  }
  const tools = async (service: TestService) =>
    (await service.inject('/api/servers/grows/tools'))
      .json()
      .items?.map((tool: { name: string }) => tool.name)

  test('an update switches to a version that starts, reports changed tools, and can be rolled back', async () => {
    const { service, home } = await houseWithGrows(['1.1.0', { tools: ['b', 'c'] }])
    expect(await packages(service, 'POST', '/grows/rollback')).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_roll_back' },
    })
    put(home, '.cursor/mcp.json', '{}')
    await done(service, 'PUT', '/cursor/servers', { server_ids: ['grows'] })
    const [entry] = JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.grows.args
    /** The path in an agent's entry leads to the version in use. */
    const expectEntry = (version: string) =>
      mayJunction && expect(readFileSync(entry, 'utf8')).toContain(`"version":"${version}"`)
    expectEntry('1.0.0')
    const { status, body } = await packages<Updated>(service, 'POST', '/grows/update')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({
      version: '1.1.0',
      from_version: '1.0.0',
      previous_version: '1.0.0',
      tools: { added: ['c'], removed: ['a'] },
      tried_with: ['grows'],
    })
    expectEntry('1.1.0')
    await expect.poll(() => tools(service)).toEqual(['b', 'c'])
    expect((await packages<PackageView>(service, 'POST', '/grows/rollback')).body).toMatchObject({
      version: '1.0.0',
      previous_version: '1.1.0',
    })
    expectEntry('1.0.0')
    await expect.poll(() => tools(service)).toEqual(['a', 'b'])

    await post(service, '/api/servers/grows/stop')
    expect(await get(service, 'grows')).toMatchObject({ last_try: { ok: true }, health: { works: true } })
    await packages(service, 'POST', '/grows/rollback')
    expect(await get(service, 'grows')).toMatchObject({ last_try: null, health: { works: null } })
    await packages(service, 'POST', '/grows/rollback')
    await post(service, '/api/servers/grows/start')
  })

  test('an update with hold waits with the difference of the tools, and replaces the version only when it is continued', async () => {
    const { service, registry } = await houseWithGrows(['1.2.0', { tools: ['b', 'c'] }])
    const jobs = async (path: string, method: 'GET' | 'POST' = 'POST') =>
      (await service.inject({ method, url: `/api/jobs/${path}`, headers: AUTHORISED })).json()
    const waiting = async () => {
      const accepted = await packages<{ job: string }>(service, 'POST', '/grows/update?hold=true')
      expect(accepted.status).toBe(202)
      const { job } = accepted.body
      await expect.poll(async () => (await jobs(job, 'GET')).phase, { timeout: 30_000 }).toBe('waiting')
      return job
    }
    const version = async () => (await named(service, 'grows'))[0]?.version

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
    const difference = { added: ['c'], removed: ['a'], changed: [] }
    expect(phases.at(-1)).toMatchObject({
      finished_at: null,
      detail: { from: '1.0.0', to: '1.2.0', tools: difference },
    })
    expect(await version()).toBe('1.0.0')
    expect(await jobs(`${first}/cancel`)).toMatchObject({ status: 'cancelled' })
    expect(await version()).toBe('1.0.0')
    expect(readdirSync(join(service.data, 'packages/.staging'))).toEqual([])
    expect(await jobs(`${first}/continue`)).toMatchObject({ status: 409, code: 'job_not_waiting' })

    const second = await waiting()
    expect(await jobs(`${second}/continue`)).toMatchObject({ status: 'running', phase: 'continuing' })
    await expect.poll(async () => (await jobs(second, 'GET')).status).toBe('done')
    expect(await jobs(second, 'GET')).toMatchObject({ result: { version: '1.2.0', tools: difference } })
    expect(await version()).toBe('1.2.0')

    registry.publish(toolPackage('grows', '1.3.0'))
    const third = await waiting()
    expect((await packages(service, 'POST', '/grows/rollback')).status).toBe(200) // is not kept waiting
    await jobs(`${third}/continue`)
    await expect.poll(async () => (await jobs(third, 'GET')).status).toBe('failed')
    expect(await jobs(third, 'GET')).toMatchObject({ error: { code: 'update_failed' } })
    expect(await version()).toBe('1.0.0')
  })

  test('an update to a version that does not start changes nothing and fails with the reason', async () => {
    const { service } = await houseWithGrows(['2.0.0', { crash: true }])
    const server = async () => (await service.inject('/api/servers/grows')).json<ServerView>()
    await expect.poll(server).toMatchObject({ status: 'running' })
    const { pid } = await server()
    const [{ previous_version } = {}] = await named(service, 'grows')
    const failed = await packages<{ detail: string }>(service, 'POST', '/grows/update')
    expect(failed).toMatchObject({ status: 502, body: { code: 'update_failed' } })
    expect(failed.body.detail).toContain('the package is broken')
    expect(await server()).toMatchObject({ status: 'running', pid })
    expect(await named(service, 'grows')).toMatchObject([{ version: '1.0.0', previous_version }])
  })

  test('a refresh finds newer and deprecated versions, names those that it could not ask for, and installs nothing', async () => {
    const { service, registry } = await houseWith(['popular'], ['weather-mcp'])
    const names = ['popular', 'weather-mcp']
    for (const name of names) await install(service, { name })
    registry.publish(toolPackage('popular', '1.0.0', { deprecated: 'use 2' }))
    registry.publish(toolPackage('popular', '2.0.0'))
    registry.faults.set('weather-mcp', 'server_error')
    const refresh = () => packages<{ items: RefreshedPackage[] }>(service, 'POST', '/refresh')
    const [one, other] = await Promise.all([refresh(), refresh()])
    expect(one).toEqual(other)
    expect(one.body.items.filter(({ name }) => names.includes(name))).toMatchObject([
      {
        name: 'popular',
        version: '1.0.0',
        latest: '2.0.0',
        update_available: true,
        deprecated: 'use 2',
        error: null,
      },
      { name: 'weather-mcp', update_available: false, error: expect.stringContaining('registry') },
    ])
    await refresh()
    registry.faults.delete('weather-mcp')
    expect(await named(service, ...names)).toMatchObject([
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
})

describe('searching', () => {
  test('a search without token finds packages by keyword and marks installed ones', async () => {
    covers('packages-search', 'open-auth-packages-search')
    const { service } = await houseWith(
      ['weather-mcp', '1.0.0'],
      ['weather', '9.0.0', { manifest: { keywords: ['sky'], description: 'Plain weather' } }],
    )
    await install(service, { name: 'weather-mcp' })
    const reply = await service.inject({
      method: 'POST',
      url: '/api/packages/search',
      payload: { query: 'weather', mcp_only: true },
    })
    expect(reply.statusCode, reply.body).toBe(200)
    const { items } = reply.json<SearchAnswer>()
    const found = items.filter(({ name }) => name.includes('weather'))
    expect(found.map(({ name, installed: version }) => [name, version])).toEqual([['weather-mcp', '1.0.0']])
    expect(items[0]).toBe(found[0])
    expect(found[0]?.trust.map(({ state }) => state)).not.toContain('no')
  })

  test('a registry without search is search_unavailable, except for exact names', async () => {
    const { service, registry } = await houseWith(['exact-mcp'])
    registry.serving.search = 'off'
    onTestFinished(() => {
      registry.serving.search = 'on'
    })
    const none = await packages(service, 'POST', '/search', { query: 'good weather' })
    expect(none).toMatchObject({
      status: 502,
      body: { code: 'search_unavailable', hint: expect.stringContaining('exact package name') },
    })
    const exact = await packages<SearchAnswer>(service, 'POST', '/search', { query: 'exact-mcp' })
    expect(exact.body).toMatchObject({ search_available: false, items: [{ name: 'exact-mcp' }] })
    expect(await install(service, { name: 'exact-mcp' })).toMatchObject({ version: '1.0.0' })
  })
})
