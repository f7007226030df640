import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL, some } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { NPMS, pathWithNpm } from '../support/npm-versions.ts'
import { houseWithNpm, installed, npmEnv, packageFolders, packages } from '../support/packages.ts'
import { openRegistry, type TestPackage, toolPackage } from '../support/registry/registry.ts'
import { openService } from '../support/service-process.ts'
import { AUTHORISED } from '../support/test-service.ts'

/** The script of the goal R25. */

/** Everything that npm would not read as the name of a package in its registry. */
const HOSTILE = [
  ...[
    '--prefix=/x',
    '-g',
    '../x',
    './x',
    '/etc',
    '~/x',
    'x.tgz',
    'user/repo',
    'git+ssh://h/x',
    'https://h/x.tgz',
  ],
  ...[
    'http://h/x',
    'git://h/x',
    'github:u/r',
    'gist:1',
    'file:..',
    'link:..',
    'a@file:..',
    'a@npm:b',
    'npm:b@1',
  ],
  ...[
    'lodash; rm -rf /',
    'a@1.0.0 --save',
    ' left-pad',
    'left-pad ',
    'a b',
    'a\nb',
    'a\tb',
    'node_modules',
    '.hidden',
  ],
  ...[
    '_x',
    '..',
    '.',
    '',
    '@',
    '@/',
    '@a',
    '@a/',
    '@/b',
    '@a/b/c',
    'a/b',
    '@a/../b',
    'a%2fb',
    'a\\b',
    'C:\\x',
    '\\\\h\\x',
  ],
  ...[
    '$(id)',
    '`id`',
    `\${HOME}`,
    '|id',
    '&id',
    '>x',
    '*',
    '?',
    '~',
    '!x',
    '"x"',
    "'x'",
    'a,b',
    '[a]',
    '{a}',
    'a#b',
    'A',
  ],
  ...[
    '\u0430pp',
    'left-p\u0430d',
    'x\u0000y',
    '\u202Eabc',
    'ｅxpress',
    'x'.repeat(215),
    '__proto__',
    'favicon.ico',
    'con',
  ],
  ...[
    'a@>=1',
    'a@^1.0.0',
    'a@~1',
    'a@1.x',
    'a@*',
    'a@',
    'a@latest@1',
    'a@git+ssh://h',
    'a@https://h/x.tgz',
    'a@../x',
    'a@ 1.0.0',
    'a@v1.0.0',
  ],
]

/** Everything outside of the data folder and of npm's own cache. */
const filesIn = (home: string): string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^(?:data|config|npm-cache|traces)(?:\/|$)/.test(path))
    .sort()

type Outside = Awaited<ReturnType<typeof houseWithNpm>>['outside']

function expectNothing(npm: string, what: string, { ran, connections }: Outside): void {
  figure('R25', `npm ${npm}: programs run for ${what}`, ran().length, { exactly: 0 })
  figure('R25', `npm ${npm}: connections made for ${what}`, connections.length, { exactly: 0 })
}

// The first run on a machine downloads both. In the short form every test has one of them.
beforeAll(() => void NPMS.map(pathWithNpm), 300_000)

describe('hostile packages', () => {
  /** One service for each npm, because each asks it for its version and its settings. */
  const houses = {
    '10.8.2': sharedByTests(() => houseWithNpm('10.8.2')),
    '11.19.1': sharedByTests(() => houseWithNpm('11.19.1')),
  }

  /** The one with this npm, and with these packages in its registry. */
  async function houseWith(npm: (typeof NPMS)[number], ...given: TestPackage[]) {
    const house = await houses[npm]()
    given.forEach(house.registry.publish)
    return house
  }

  test(`${HOSTILE.length} hostile package names get 422, and neither a job nor a registry request is made`, async () => {
    const { service, registry } = await houseWith('11.19.1', toolPackage('a'))
    const jobs = async () =>
      (await service.inject({ url: '/api/jobs', headers: AUTHORISED })).json().items.length
    const before = {
      jobs: await jobs(),
      requests: registry.requests.length,
      left: packageFolders(service.data),
    }
    for (const name of HOSTILE) {
      const refused = await packages<{ code: string }>(service, 'POST', '/install-npm', { name })
      expect(refused.status, JSON.stringify(name)).toBe(422)
      expect(['invalid_package_spec', 'invalid_input'], JSON.stringify(name)).toContain(refused.body.code)
      const version = await packages<{ code: string }>(service, 'POST', '/install-npm', {
        name: 'a',
        version: name,
      })
      if (!/^[a-z][a-z0-9._-]*$/.test(name)) expect(version.status, JSON.stringify(name)).toBe(422)
    }
    const tags = HOSTILE.filter((name) => /^[a-z][a-z0-9._-]*$/.test(name))
    expect((await jobs()) - before.jobs).toBeLessThanOrEqual(tags.length)
    expect(registry.requests.slice(before.requests).every(({ path }) => path === '/a')).toBe(true)
    expect(packageFolders(service.data)).toEqual(before.left)
  })

  test.each(some(NPMS, 2, 1))(
    'R25, npm %s: no install script of a package or its dependencies runs, and no file is written outside of the data folder',
    async (npm) => {
      const count = FULL ? 40 : 6
      const scripts = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'dependencies']
      const run = 'node canary.mjs'
      const evil = (name: string, manifest: object) =>
        toolPackage(name, '1.0.0', {
          postinstall: true,
          manifest: {
            bin: {
              [name]: 'server.mjs',
              '../../../escaped': 'server.mjs',
              up: '../../../../../../../etc/passwd',
            },
            ...manifest,
          },
        })
      const hostile = Array.from({ length: count }, (_, n) =>
        evil(`evil-${n}`, { scripts: { [scripts[n % scripts.length] ?? 'install']: run } }),
      )
      const outer = evil('outer', {
        scripts: Object.fromEntries(scripts.map((script) => [script, run])),
        dependencies: Object.fromEntries(hostile.map(({ name }) => [name, '1.0.0'])),
      })
      const { service, home, outside } = await houseWith(npm, ...hostile, outer)
      const before = filesIn(home)
      for (const name of ['outer', ...(FULL ? ['evil-0', 'evil-1'] : [])]) {
        const server = name === 'outer' && { create_server: true, bin: name }
        const { status, body } = await packages(service, 'POST', '/install-npm', { name, ...server })
        expect(status, JSON.stringify(body)).toBe(201)
      }
      expect(existsSync(join(home, 'canary'))).toBe(false)
      expect(outside.connections).toEqual([])
      expect(filesIn(home)).toEqual(before)
      const ran = existsSync(join(home, 'canary')) ? 1 : 0
      figure('R25', `npm ${npm}: install scripts of ${count} packages that ran`, ran, { exactly: 0 })
      for (const { bin } of await installed(service))
        for (const file of Object.values(bin)) expect(file).not.toContain('..')
    },
    600_000,
  )

  test.each(some(NPMS, 2, 0))(
    'R25, npm %s: a dependency from outside of the registry is neither fetched nor run, however deep it is',
    async (npm) => {
      const { service, home, registry, outside } = await houseWith(npm)
      const places = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const
      const hostile = Object.entries(outside.specs).flatMap(([what, spec], n) =>
        places.flatMap((place, at) => {
          if (!FULL && at !== n % places.length) return []
          const name = `hostile-${n}-${at}`
          registry.publish(toolPackage(`${name}-inner`, '1.0.0', { manifest: { [place]: { dep: spec } } }))
          registry.publish(
            toolPackage(name, '1.0.0', { manifest: { dependencies: { [`${name}-inner`]: '^1.0.0' } } }),
          )
          return [{ name, what, place }]
        }),
      )
      const before = filesIn(home)
      const kept: string[] = []
      for (const { name, what, place } of hostile) {
        const told = `${what} in ${place}`
        const { status, body } = await packages<{ code?: string }>(service, 'POST', '/install-npm', { name })
        expect(outside.ran(), told).toEqual([])
        expect(outside.connections, told).toEqual([])
        expect(filesIn(home), told).toEqual(before)
        // npm 11 leaves out an optional dependency that it may not fetch.
        if (status === 201 && place === 'optionalDependencies') kept.push(name)
        else expect({ status, code: body.code }, told).toEqual({ status: 502, code: 'install_failed' })
      }
      const own = (name: string) => name === '.staging' || name.startsWith('hostile-')
      expect(
        (await installed(service))
          .map(({ name }) => name)
          .filter(own)
          .sort(),
      ).toEqual(kept.sort())
      expect(packageFolders(service.data).filter(own)).toEqual(kept.sort())
      if (npm.startsWith('10')) expect(kept).toEqual([])
      expectNothing(npm, `${hostile.length} dependencies from elsewhere`, outside)
    },
    FULL ? 1_800_000 : 600_000,
  )

  test.each(some(NPMS, 2, 1))(
    'R25, npm %s: what a package carries in a lock file or a bundle of its own leads npm nowhere else',
    async (npm) => {
      const { service, home, registry, outside } = await houseWith(npm)
      const locks = {
        url: { version: '1.0.0', resolved: outside.specs['a URL'] },
        repository: { version: '1.0.0', resolved: `${outside.specs['a git repository']}#${'01'.repeat(20)}` },
        folder: { resolved: `../../../../../../../..${outside.folder}`, link: true },
        file: { version: '1.0.0', resolved: outside.specs['a file'] },
      }
      const hostile = Object.entries(locks).map(([name, entry]) =>
        toolPackage(`wrapped-${name}`, '1.0.0', {
          manifest: { dependencies: { dep: '1.0.0' } },
          files: {
            'npm-shrinkwrap.json': JSON.stringify({
              name: `wrapped-${name}`,
              version: '1.0.0',
              lockfileVersion: 3,
              packages: { '': { dependencies: { dep: '1.0.0' } }, 'node_modules/dep': entry },
            }),
          },
        }),
      )
      // A bundled package that names a repository for a name that the registry has, too.
      const inner = {
        name: 'inner',
        version: '1.0.0',
        dependencies: { dep: outside.specs['a git repository'] },
      }
      hostile.push(
        toolPackage('bundling', '1.0.0', {
          manifest: { dependencies: { inner: '1.0.0', later: '1.0.0' }, bundleDependencies: ['inner'] },
          files: { 'node_modules/inner/package.json': JSON.stringify(inner) },
        }),
      )
      const harmless = [
        toolPackage('dep', '1.0.0'),
        toolPackage('later', '1.0.0', { manifest: { dependencies: { dep: '1.0.0' } } }),
        toolPackage('inner', '1.0.0'),
      ]
      for (const one of [...hostile, ...harmless]) registry.publish(one)
      const before = filesIn(home)
      for (const { name } of hostile) {
        const { status, body } = await packages<{ code?: string }>(service, 'POST', '/install-npm', { name })
        expect(outside.ran(), name).toEqual([])
        expect(outside.connections, name).toEqual([])
        expect(filesIn(home), name).toEqual(before)
        expect({ status, code: body.code }, name).toEqual({ status: 502, code: 'install_failed' })
      }
      const own = ['.staging', ...hostile.map(({ name }) => name)]
      expect(packageFolders(service.data).filter((name) => own.includes(name))).toEqual([])
      expectNothing(npm, `${hostile.length} packages with lock files and bundles`, outside)
    },
    600_000,
  )

  test.each(some(NPMS, 2, 0))(
    'R25, npm %s: aliases of packages in the registry, ranges, tags and peers are installed, and scripts run if they are allowed',
    async (npm) => {
      const { service, home, outside } = await houseWith(
        npm,
        toolPackage('real', '1.0.0'),
        toolPackage('real', '1.2.0', { manifest: { peerDependencies: { peer: '>=1 <3 || 4.x' } } }),
        toolPackage('peer', '2.0.0', { manifest: { optionalDependencies: { 'not-there': '1.0.0' } } }),
        toolPackage('@acme/tagged', '3.0.0-rc.1', { tags: ['next'] }),
        toolPackage('plain', '1.0.0', {
          manifest: { dependencies: { other: 'npm:real@^1.1.0', '@acme/tagged': 'next', real: '1.0.0' } },
        }),
        // package.json and the registry can differ. npm resolves what the registry shows.
        toolPackage('confused', '1.0.0', {
          manifest: { dependencies: { dep: 'git+file:///nowhere' } },
          shown: { dependencies: undefined },
        }),
        toolPackage('scripted', '1.0.0', { postinstall: true }),
      )
      for (const name of ['plain', 'confused'])
        expect(await packages(service, 'POST', '/install-npm', { name })).toMatchObject({ status: 201 })
      const [plain] = (await installed(service)).filter(({ name }) => name === 'plain')
      const lock = JSON.parse(readFileSync(join(plain?.path ?? '', 'package-lock.json'), 'utf8'))
      expect(Object.keys(lock.packages).sort()).toEqual(
        ['', '@acme/tagged', 'other', 'peer', 'plain', 'real'].map((name) => name && `node_modules/${name}`),
      )
      expect(existsSync(join(home, 'canary'))).toBe(false)
      const allowed = { name: 'scripted', allow_scripts: true }
      expect(await packages(service, 'POST', '/install-npm', allowed)).toMatchObject({ status: 201 })
      expect(existsSync(join(home, 'canary'))).toBe(true)
      rmSync(join(home, 'canary'))
      expect(outside.connections).toEqual([])
    },
    600_000,
  )

  test.each([
    ['10.8.2', 502],
    ['11.19.1', 201],
  ] as const)(
    'R25, npm %s: a package with a harmless bundle or lock file gets %i, because only a newer npm checks them',
    async (npm, expected) => {
      const { service, registry, outside } = await houseWith(npm, toolPackage('inner', '1.0.0'))
      const manifest = { dependencies: { inner: '1.0.0' } }
      const resolved = `${registry.url}/inner/-/inner-1.0.0.tgz`
      registry.publish(
        toolPackage('harmless-bundle', '1.0.0', {
          manifest: { ...manifest, bundleDependencies: ['inner'] },
          files: { 'node_modules/inner/package.json': JSON.stringify({ name: 'inner', version: '1.0.0' }) },
        }),
      )
      const packagesOfLock = { '': manifest, 'node_modules/inner': { version: '1.0.0', resolved } }
      const shrinkwrap = {
        name: 'harmless-lock',
        version: '1.0.0',
        lockfileVersion: 3,
        packages: packagesOfLock,
      }
      registry.publish(
        toolPackage('harmless-lock', '1.0.0', {
          manifest,
          files: { 'npm-shrinkwrap.json': JSON.stringify(shrinkwrap) },
        }),
      )
      for (const name of ['harmless-bundle', 'harmless-lock']) {
        const { status, body } = await packages<{ hint?: string }>(service, 'POST', '/install-npm', { name })
        expect(status, JSON.stringify(body)).toBe(expected)
        if (status !== 201) expect(body.hint).toContain('npm install --global npm@11')
      }
      expect(outside.connections).toEqual([])
    },
    600_000,
  )

  test('npm 10.8.2: a registry may deliver its files from another host, as long as it says so itself', async () => {
    const { service, registry } = await houseWith(
      '10.8.2',
      toolPackage('delivered-inner', '1.0.0'),
      toolPackage('delivered', '1.0.0', { manifest: { dependencies: { 'delivered-inner': '^1.0.0' } } }),
    )
    registry.serving.fileHost = 'localhost'
    onTestFinished(() => {
      registry.serving.fileHost = undefined
    })
    const { status, body } = await packages(service, 'POST', '/install-npm', { name: 'delivered' })
    expect(status, JSON.stringify(body)).toBe(201)
  }, 600_000)

  test.runIf(process.platform === 'linux')(
    'a service that is killed while npm runs leaves no process and no incomplete package',
    async () => {
      const registry = await openRegistry([toolPackage('slow'), toolPackage('kept')])
      onTestFinished(() => registry.close())
      const home = ownFolder()
      const first = await openService({ home, env: npmEnv(home, registry.url) })
      expect((await first.ask('POST', '/packages/install-npm', { name: 'kept' })).status).toBe(201)
      registry.faults.set('slow', 'silent_tarball')
      const { body } = await first.ask('POST', '/packages/install-npm?async=true', { name: 'slow' })
      await expect
        .poll(async () => (await first.ask('GET', `/jobs/${body.job}`)).body.phase, { timeout: 60_000 })
        .toBe('installing')
      await expect.poll(() => processesMarked(first.mark).length).toBeGreaterThan(0)
      first.child.kill('SIGKILL')
      await first.ended
      await expect.poll(() => processesMarked(first.mark).length).toBe(0)
      const second = await openService({ home, env: npmEnv(home, registry.url) })
      const { items } = (await second.ask('GET', '/packages')).body
      expect(items.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
        ['kept', 'installed'],
      ])
      expect(packageFolders(second.data)).toEqual(['kept'])
      await sleep(10)
    },
    600_000,
  )
})
