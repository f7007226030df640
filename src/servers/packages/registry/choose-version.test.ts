import { describe, expect, test } from 'vitest'
import { packumentOf, type TestPackage } from '../../../../test/support/registry/documents.ts'
import { toolPackage } from '../../../../test/support/registry/tool-package.ts'
import { parseSpec } from '../package-spec.ts'
import { choose } from './choose-version.ts'
import { readPackument } from './packument.ts'

const NODE = '20.19.0'
const NOW = Date.parse('2026-06-01T00:00:00Z')
const needs = (node: string) => ({ manifest: { engines: { node } } })

const ALL = [
  toolPackage('notes', '1.0.0', needs('>=16')),
  toolPackage('notes', '1.1.0', { ...needs('>=18'), deprecated: 'broken' }),
  toolPackage('notes', '1.2.0-rc.1', needs('>=18')), // never in place of a release
  toolPackage('notes', '2.0.0', { ...needs('>=22'), publishedAt: '2026-05-30T00:00:00.000Z' }),
  toolPackage('notes', '2.1.0-rc.1', {
    tags: ['next'],
    ...needs('>=18'),
    publishedAt: '2026-05-31T00:00:00.000Z',
  }),
  toolPackage('notes', '3.0.0', { tags: ['beta'], ...needs('>=18') }),
  toolPackage('notes', '3.1.0', { tags: ['canary'], ...needs('>=99') }),
].map((one) => (one.version === '2.0.0' ? { ...one, tags: ['latest'] } : one))

describe('choose', () => {
  test('latest is the newest version that runs on this Node, and a warning says why', () => {
    const chosen = chosenOf('notes')
    expect(chosen).toMatchObject({ name: 'notes', version: '1.0.0', requested: 'latest', latest: '2.0.0' })
    expect(chosen.warnings).toEqual([
      "The newest version of 'notes' is 2.0.0, which needs Node >=22; 1.0.0 is the newest that runs on Node 20.19.0",
    ])
  })

  test('latest is the tagged version when it runs on this Node', () => {
    expect(chosenOf('notes', '22.1.0')).toMatchObject({ version: '2.0.0', warnings: [] })
  })

  test('a named version or tag is chosen unchanged, with a warning when it is deprecated', () => {
    expect(chosenOf('notes@next')).toMatchObject({ version: '2.1.0-rc.1', requested: 'next' })
    const old = chosenOf('notes@1.1.0')
    expect(old).toMatchObject({
      version: '1.1.0',
      deprecated: 'broken',
      hasInstallScript: false,
      license: 'MIT',
    })
    expect(old.warnings).toEqual(["'notes' 1.1.0 is deprecated: broken"])
  })

  test.each(['notes@2.0.0', 'notes@canary'])(
    '%s needs another Node and is refused instead of being replaced',
    (spec) => {
      expect(() => chosenOf(spec)).toThrow(expect.objectContaining({ code: 'node_too_old' }))
    },
  )

  test('a package without any version for this Node is refused', () => {
    expect(() => chosenOf('notes', '12.0.0')).toThrow(
      "'notes' 2.0.0 needs Node >=22, but this is Node 12.0.0",
    )
  })

  test.each(['notes@9.9.9', 'notes@nightly', 'notes@constructor'])(
    '%s is not found, and the hint lists the tags',
    (spec) => {
      expect(() => chosenOf(spec)).toThrow(
        expect.objectContaining({
          code: 'package_not_found',
          hint: 'It has the tags: latest, canary, beta, next',
        }),
      )
    },
  )

  test('a version below the minimum age is refused, and the hint names one that is old enough', () => {
    expect(() => chosenOf('notes', '22.1.0', ALL, 7)).toThrow(
      expect.objectContaining({ code: 'package_too_new', hint: 'Version 1.1.0 is old enough' }),
    )
    expect(chosenOf('notes', NODE, ALL, 7).version).toBe('1.0.0')
  })

  test('a version without a date is refused when there is a minimum age', () => {
    const packument = readPackument(packumentOf(ALL, 'http://x', 'abbreviated'), 'notes', 'abbreviated')
    if (!packument) return expect.unreachable()
    const spec = parseSpec('notes@1.0.0')
    expect(choose(packument, spec, NODE, { now: NOW, minAgeDays: 0 }).publishedAt).toBeNull()
    expect(() => choose(packument, spec, NODE, { now: NOW, minAgeDays: 1 })).toThrow('has no known date')
  })

  test('a path or an option sent as a version by the registry is ignored', () => {
    const raw = packumentOf(ALL, 'http://x', 'full')
    const bad = Object.fromEntries(
      ['../x', '--prefix=/x', '1.0.0 -g', 'v9.0.0'].map((key) => [key, { dist: {} }]),
    )
    const tags = { latest: '../x', next: '--prefix=/x', '$(id)': '1.0.0' }
    const packument = readPackument(
      { ...raw, versions: { ...raw.versions, ...bad }, 'dist-tags': tags },
      'notes',
      'full',
    )
    if (!packument) return expect.unreachable()
    expect([...packument.releases.keys()]).toEqual(Object.keys(raw.versions))
    expect([...packument.tags]).toEqual([])
    expect(choose(packument, parseSpec('notes'), NODE, { now: NOW, minAgeDays: 0 }).version).toBe('3.0.0')
  })

  test('an engines range that is not valid is ignored', () => {
    expect(chosenOf('notes', NODE, [toolPackage('notes', '1.0.0', needs('twenty'))]).version).toBe('1.0.0')
  })

  test('a package without the tag latest resolves to its highest stable version', () => {
    const raw = packumentOf(ALL, 'http://x', 'full')
    const packument = readPackument({ ...raw, 'dist-tags': {} }, 'notes', 'full')
    if (!packument) return expect.unreachable()
    expect(choose(packument, parseSpec('notes'), '99.0.0', { now: NOW, minAgeDays: 0 }).version).toBe('3.1.0')
  })
})

function chosenOf(spec: string, node = NODE, all: readonly TestPackage[] = ALL, minAgeDays = 0) {
  const packument = readPackument(packumentOf(all, 'http://x', 'full'), 'notes', 'full')
  if (!packument) return expect.unreachable('no packument')
  return choose(packument, parseSpec(spec), node, { now: NOW, minAgeDays })
}
