import { createRequire } from 'node:module'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { NPMS, npmFolder } from '../../../test/support/npm-versions.ts'
import { AppError } from '../../kernel/errors.ts'
import { candidates, readManifests } from './registry/manifests.ts'
import { registryDependency, walkDependencies } from './registry-only-dependencies.ts'

const RUNS = { numRuns: runs(300, 3000) }

// The first run on a machine downloads both.
beforeAll(() => void NPMS.map(npmFolder), 900_000)

test.each([
  ...[
    'git+https://tools.example/x',
    'git://tools.example/x',
    'git+ssh://git@tools.example:x.git',
    'git@tools.example:x',
  ],
  ...[
    'acme/x',
    'github:acme/x',
    'gitlab:acme/x',
    'bitbucket:acme/x',
    'gist:1234',
    'acme/x#semver:^1',
    'https://tools.example/x.tgz',
  ],
  ...[
    'http://tools.example',
    'file:x',
    'FILE:x',
    './x',
    '../x',
    '/x',
    '~/x',
    'x.tgz',
    '1.0.0-x.tgz',
    '1.0.0-x.tar',
    '1.0.0-x.tar.gz',
    '1.0.0-x.tarxgz',
  ],
  ...[
    'npm:x@git+https://tools.example/x',
    'npm:x@file:y',
    'npm:x@npm:y@1',
    'npm:acme/x',
    'npm:',
    'link:x',
    'workspace:*',
    'C:\\x',
    'C:x',
  ],
  ...[undefined, null, 1, {}, []],
])('R25: the dependency %j is not from the registry', (spec) => {
  expect(registryDependency('dep', spec)).toBeUndefined()
})

describe.each(NPMS)('as npm %s does it', (version) => {
  const part = (name: string) => createRequire(`${npmFolder(version)}/lib/`)(name)

  test('R25: every spec that counts as from the registry is one to npm, too', () => {
    const { resolve } = part('npm-package-arg')
    const readByNpm = (text: string) => {
      try {
        return resolve('dep', text, '/project')
      } catch {
        return undefined // npm refuses it
      }
    }
    const words = ['1', '2', '.', 'x', '*', ' ', '||', '^', '~', '>=', '-', 'a', '@', '/', ':', '#', '\\']
    const places = [
      'npm:',
      'file:',
      'git+ssh://',
      'https://',
      '.tgz',
      '.tar',
      'github:',
      '1.0.0',
      'latest',
      '..',
    ]
    const spec = fc.array(fc.constantFrom(...words, ...places), { maxLength: 6 }).map((all) => all.join(''))
    let accepted = 0
    fc.assert(
      fc.property(fc.oneof(spec, fc.string()), (text) => {
        const dependency = registryDependency('dep', text)
        if (!dependency) return
        accepted += 1
        const read = readByNpm(text)
        if (read) expect([read.registry, (read.subSpec ?? read).name]).toEqual([true, dependency.name])
      }),
      RUNS,
    )
    expect(accepted).toBeGreaterThan(runs(50, 100))
  })

  test('R25: the version that npm picks is always among those that are checked', () => {
    const pick = part('npm-pick-manifest')
    const chooser = { npm: version, node: '20.19.0', hasDateLimit: false }
    const manifest = fc.record(
      {
        deprecated: fc.constantFrom('no longer', '', false),
        engines: fc.constantFrom(
          { node: '>=18' },
          { node: '>=99' },
          { npm: '>=99' },
          {},
          ['node >= 99'],
          { node: '' },
          '>=99',
        ),
      },
      { requiredKeys: [] },
    )
    const versions = ['1.0.0', '1.1.0', '1.2.0-rc.1', '1.2.0', '2.0.0', '2.0.1', '3.0.0-rc.1', '3.0.0']
    const document = fc.record({
      versions: fc.dictionary(fc.constantFrom(...versions), manifest, { minKeys: 1 }),
      tags: fc.dictionary(fc.constantFrom('latest', 'next'), fc.constantFrom(...versions)),
      restricted: fc.subarray(versions, { maxLength: 2 }),
    })
    const wanted = fc.constantFrom(
      '',
      '*',
      '1.x',
      '^1.1.0',
      '>=1',
      '<3',
      '2.0.0',
      'next',
      'latest',
      '>=1.2.0-rc.0',
      '3',
    )
    let picked = 0
    fc.assert(
      fc.property(document, wanted, fc.constantFrom('latest', 'next'), (given, spec, defaultTag) => {
        const raw = {
          name: 'dep',
          'dist-tags': given.tags,
          versions: Object.fromEntries(
            Object.entries(given.versions).map(([key, one]) => [key, { name: 'dep', version: key, ...one }]),
          ),
          policyRestrictions: { versions: Object.fromEntries(given.restricted.map((key) => [key, {}])) },
        }
        const choose = () => {
          try {
            return pick(raw, spec, { defaultTag, nodeVersion: `v${chooser.node}`, npmVersion: version })
              .version
          } catch {
            return undefined // npm finds none, and installs nothing
          }
        }
        const chosen: unknown = choose()
        if (typeof chosen !== 'string' || given.restricted.includes(chosen)) return
        picked += 1
        expect(candidates(readManifests(raw), spec, chooser).map((one) => one.version)).toContain(chosen)
      }),
      RUNS,
    )
    expect(picked).toBeGreaterThan(runs(100, 500))
  })
})

describe('walking', () => {
  const walk = (documents: Record<string, object>, hasDateLimit = false) => {
    const asked: string[] = []
    const manifestsOf = async (name: string) => {
      asked.push(name)
      return documents[name] && readManifests({ versions: documents[name] })
    }
    const found = walkDependencies(
      { name: 'root', wanted: '1.0.0' },
      { manifestsOf, hasDateLimit, npm: '10.8.2', node: '20.19.0' },
    )
    return found.then(
      () => asked.sort(),
      (error: unknown) => (error instanceof AppError ? error.message : error),
    )
  }

  test('every dependency is looked up, a cycle and a missing package end the walk', async () => {
    const asked = await walk({
      root: {
        '1.0.0': { dependencies: { a: '1', alias: 'npm:@acme/b@^2' }, peerDependencies: { gone: '*' } },
      },
      a: { '1.0.0': { optionalDependencies: { root: '1.0.0' } } },
      '@acme/b': { '2.1.0': { dependencies: { a: '^1.0.0' } } },
    })
    expect([...new Set(asked as string[])]).toEqual(['@acme/b', 'a', 'gone', 'root'])
  })

  test.each([
    ['a dependency in a list', { dependencies: ['git+https://tools.example/x'] }],
    ['a dependency in a text', { dependencies: 'git+https://tools.example/x' }],
    ['a dependency whose name is a path', { dependencies: { '../../x': '1.0.0' } }],
    [
      'an optional peer',
      { peerDependencies: { x: 'acme/x' }, peerDependenciesMeta: { x: { optional: true } } },
    ],
  ])('R25: %s that leads out of the registry is refused', async (_, manifest) => {
    expect(await walk({ root: { '1.0.0': manifest } })).toContain('from outside of the registry')
  })

  test.each([
    ['a lock file', { _hasShrinkwrap: true }],
    ['a bundle', { bundleDependencies: ['x'] }],
    ['a bundle under its other name', { bundledDependencies: ['x'] }],
    ['a bundle of everything', { bundleDependencies: true }],
  ])('R25: a package with %s of its own is refused', async (_, manifest) => {
    expect(await walk({ root: { '1.0.0': manifest } })).toContain(
      'contains dependencies that the registry does not list',
    )
    expect(await walk({ root: { '1.0.0': { bundleDependencies: [], dependencies: [] } } })).toEqual(['root'])
  })

  test('with a date limit every version that fits is checked', async () => {
    const documents = {
      root: { '1.0.0': { dependencies: { a: '^1.0.0' } } },
      a: { '1.0.0': { dependencies: { x: 'acme/x' } }, '1.1.0': {} },
    }
    expect(await walk(documents)).toEqual(['a', 'root'])
    expect(await walk(documents, true)).toContain("'a' 1.0.0 needs 'x' from outside of the registry")
  })
})

test('R25: a walk whose lookups together take too long ends with registry_timeout', async () => {
  let lookups = 0
  // A chain without end: each package needs the next.
  const manifestsOf = async (name: string) => {
    lookups += 1
    await new Promise((resolve) => setTimeout(resolve, 5))
    const next = `${name.split('-')[0]}-${lookups}`
    return readManifests({ versions: { '1.0.0': { dependencies: { [next]: '1.0.0' } } }, 'dist-tags': {} })
  }
  const walk = { manifestsOf, npm: '10.8.0', node: '20.0.0', hasDateLimit: false, deadlineMs: 50 }
  await expect(walkDependencies({ name: 'chain', wanted: '1.0.0' }, walk)).rejects.toMatchObject({
    code: 'registry_timeout',
    message: expect.stringContaining('too slowly to check all its dependencies'),
  })
  expect(lookups).toBeLessThan(50)
})
