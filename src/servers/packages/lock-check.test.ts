import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { checkLock } from './registry-only-dependencies.ts'

const REGISTRY = 'https://npm.tools.example/'
const isRegistryUrl = async (_: string, __: string, url: string) => url.startsWith(REGISTRY)

function check(packages: object): Promise<void> {
  const folder = ownFolder()
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  return checkLock(folder, 'tools', isRegistryUrl)
}
const good = { version: '1.0.0', resolved: `${REGISTRY}a/-/a-1.0.0.tgz` }

test('R25: a lock file of packages from the registry, nested, scoped and bundled ones too, is accepted', async () => {
  await check({
    '': { dependencies: { a: '1.0.0' } },
    'node_modules/a': good,
    'node_modules/@acme/b': good,
    'node_modules/@acme/b/node_modules/c': { ...good, name: 'real', optional: true },
    'node_modules/a/node_modules/@acme/d': { version: '1.0.0', inBundle: true },
  })
})

test.each([
  ['a link', { resolved: '../elsewhere', link: true }],
  ['a link with a URL of the registry', { ...good, link: true }],
  ['a git repository', { version: '1.0.0', resolved: 'git+ssh://git@tools.example/x.git#0123' }],
  ['a URL elsewhere', { version: '1.0.0', resolved: 'https://tools.example/x.tgz' }],
  ['a file', { version: '1.0.0', resolved: 'file:../x.tgz' }],
  ['no source', { version: '1.0.0' }],
  [
    'a bundled package with a source elsewhere',
    { version: '1.0.0', inBundle: true, resolved: 'https://tools.example/x.tgz' },
  ],
  ['a bundled link', { inBundle: true, link: true, resolved: '../x' }],
  ['no version', { resolved: good.resolved }],
  ['no object', 'text'],
])('R25: a lock file with %s is refused', async (_, entry) => {
  const refused = {
    code: 'install_failed',
    message: expect.stringContaining("'b' from outside of the registry"),
  }
  await expect(check({ 'node_modules/a': good, 'node_modules/b': entry })).rejects.toMatchObject(refused)
})

test.each([
  'elsewhere',
  '../elsewhere',
  'node_modules/../b',
  'node_modules/a/../../b',
  '/etc',
  'node_modules/',
  'x/node_modules/b',
])('R25: a lock file with a package at %s is refused', async (path) => {
  await expect(check({ [path]: good })).rejects.toMatchObject({ code: 'install_failed' })
})
