import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processesMarked } from '../../src/supervisor/process/process-table.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED } from '../support/house.ts'
import { houseWithRegistry, installed, npmEnv, packageFolders, packages } from '../support/packages.ts'
import { openRegistry, toolPackage } from '../support/registry/registry.ts'
import { openService } from '../support/service-process.ts'

/** The script of the goal R25. */

const FULL = process.env.TOOLROOM_GOALS === 'full'

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

describe('hostile packages', () => {
  test(`${HOSTILE.length} hostile package names get 422, and neither a job nor a registry request is made`, async () => {
    const { house, registry } = await houseWithRegistry([toolPackage('a')])
    for (const name of HOSTILE) {
      const refused = await packages<{ code: string }>(house, 'POST', '/install-npm', { name })
      expect(refused.status, JSON.stringify(name)).toBe(422)
      expect(['invalid_package_spec', 'invalid_input'], JSON.stringify(name)).toContain(refused.body.code)
      const version = await packages<{ code: string }>(house, 'POST', '/install-npm', {
        name: 'a',
        version: name,
      })
      if (!/^[a-z][a-z0-9._-]*$/.test(name)) expect(version.status, JSON.stringify(name)).toBe(422)
    }
    const { items } = (await house.inject({ url: '/api/jobs', headers: AUTHORISED })).json()
    const tags = HOSTILE.filter((name) => /^[a-z][a-z0-9._-]*$/.test(name))
    expect(items.length).toBeLessThanOrEqual(tags.length)
    expect(registry.requests.every(({ path }) => path === '/a')).toBe(true)
    expect(packageFolders(house.data)).toEqual([])
  })

  test('no install script of a package or its dependencies runs, and no file is written outside of the data folder', async () => {
    const count = FULL ? 40 : 6
    const scripts = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'dependencies']
    const hostile = Array.from({ length: count }, (_, n) =>
      toolPackage(`evil-${n}`, '1.0.0', {
        postinstall: true,
        manifest: {
          scripts: { [scripts[n % scripts.length] ?? 'install']: 'node canary.mjs' },
          bin: {
            [`evil-${n}`]: 'server.mjs',
            '../../../escaped': 'server.mjs',
            up: '../../../../../../../etc/passwd',
          },
        },
      }),
    )
    const outer = toolPackage('outer', '1.0.0', {
      manifest: { dependencies: Object.fromEntries(hostile.map(({ name }) => [name, '1.0.0'])) },
    })
    const { house, home } = await houseWithRegistry([...hostile, outer])
    const before = readdirSync(home).sort()
    for (const name of ['outer', 'evil-0', 'evil-1']) {
      const { status, body } = await packages(house, 'POST', '/install-npm', {
        name,
        create_server: name === 'outer',
      })
      expect(status, JSON.stringify(body)).toBe(201)
    }
    expect(existsSync(join(home, 'canary'))).toBe(false)
    const after = readdirSync(home).filter((name) => name !== 'npm-cache')
    expect(after.sort()).toEqual(before.filter((name) => name !== 'npm-cache'))
    for (const { bin } of await installed(house))
      for (const file of Object.values(bin)) expect(file).not.toContain('..')
  }, 60_000)

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
        .poll(async () => (await first.ask('GET', `/jobs/${body.job}`)).body.phase, { timeout: 20_000 })
        .toBe('installing')
      await expect.poll(() => processesMarked(first.mark).length, { timeout: 10_000 }).toBeGreaterThan(0)
      first.child.kill('SIGKILL')
      await first.ended
      await expect.poll(() => processesMarked(first.mark).length, { timeout: 5000 }).toBe(0)
      const second = await openService({ home, env: npmEnv(home, registry.url) })
      const { items } = (await second.ask('GET', '/packages')).body
      expect(items.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
        ['kept', 'installed'],
      ])
      expect(packageFolders(second.data)).toEqual(['kept'])
      await sleep(10)
    },
    60_000,
  )
})
