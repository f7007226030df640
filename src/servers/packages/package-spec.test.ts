import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { AppError } from '../../kernel/errors.ts'
import { ID_PATTERN } from '../../kernel/rest-parts.ts'
import { idOf, parseSpec } from './package-spec.ts'

describe('package specs', () => {
  test.each([
    ['mcp-remote', undefined, { name: 'mcp-remote', requested: 'latest', kind: 'tag' }],
    ['@playwright/mcp', undefined, { name: '@playwright/mcp', requested: 'latest', kind: 'tag' }],
    ['mcp-remote@1.2.3', undefined, { name: 'mcp-remote', requested: '1.2.3', kind: 'version' }],
    ['@playwright/mcp@next', undefined, { name: '@playwright/mcp', requested: 'next', kind: 'tag' }],
    ['mcp-remote', '2.0.0-rc.1', { name: 'mcp-remote', requested: '2.0.0-rc.1', kind: 'version' }],
    ['mcp-remote', '2026.8.31', { name: 'mcp-remote', requested: '2026.8.31', kind: 'version' }],
    ['mcp-remote', 'latest', { name: 'mcp-remote', requested: 'latest', kind: 'tag' }],
    ['mcp-remote', 'next-11', { name: 'mcp-remote', requested: 'next-11', kind: 'tag' }],
    ['7zip-mcp', 'beta', { name: '7zip-mcp', requested: 'beta', kind: 'tag' }],
    ['a', 'constructor', { name: 'a', requested: 'constructor', kind: 'tag' }],
    [`a${'b'.repeat(213)}`, undefined, { name: `a${'b'.repeat(213)}`, requested: 'latest', kind: 'tag' }],
  ] as const)('%s with version %s is parsed', (name, version, spec) => {
    expect(parseSpec(name, version)).toEqual(spec)
  })
})

/** Options, paths, URLs, git addresses, aliases, ranges, look-alike and control characters, reserved names. */
// biome-ignore format: a list to look over, not one line each
const HOSTILE = [
  '--prefix=/x', '-g', '../x', '/etc', '~/x', 'x.tgz', 'user/repo', 'git+ssh:', 'git+ssh://git@x.example/y', 'https:',
  'https://x.example/y.tgz', 'a@file:..', 'a@npm:b', 'lodash; rm -rf /', 'a@1.0.0 --save', ' left-pad', 'a'.repeat(215),
  'node_modules', 'l\u043edash', '', ' ', '.', '..', '...', './x', '.\\x', '..\\x', 'C:\\x', 'c:/x', '\\\\host\\x',
  'file:x', 'file:../x', 'link:../x', 'workspace:*', 'portal:x', 'npm:lodash', 'a@npm:b@1', 'a@link:x', 'a@workspace:*',
  'github:user/repo', 'gist:11081aaa281', 'bitbucket:a/b', 'gitlab:a/b', 'git://x.example/y', 'user/repo#main', 'a@user/repo',
  'git@github.com:a/b.git', 'http://127.0.0.1/x', 'ftp://x/y', 'data:text/plain,x', 'a@https://x.example/y.tgz',
  'A', 'Lodash', '@Scope/x', '@scope/X', '@scope', '@scope/', '@/x', '@', '@@', '@a/b/c', '@a//b', 'a//b', '@../x', '@a/..',
  '@a/.x', '@a/_x', '@-a/x', '@.a/x', '@_a/x', '.x', '_x', '-x', '~x', '*', 'a*', 'a!', "a'", '(a)', 'a~b', 'a"b', 'a`b`', 'a$b',
  '$(id)', `\${HOME}`, '%PATH%', 'a%2fb', '%2e%2e', '@a%2fb', 'a%00', 'a\0', 'a\0b', 'a\n', '\na', 'a\r\nb', 'a\tb', 'a b', 'a ',
  'a\u00a0', 'a\u200b', '\ufeffa', 'a\u202eb', 'lod\u0430sh', 'ﬁgma', 'ａ', 'é', 'ſ', 'K', '😀', '\ud800',
  '__proto__', 'favicon.ico', '@a/node_modules', '@node_modules/a', 'con', 'nul', 'aux.mcp', 'com1', '@con/x', 'lpt9', 'prn',
  'x.tar', 'x.tar.gz', '@a/x.tgz', 'a..b', 'a.', 'a;b', 'a&b', 'a|b', 'a>b', 'a<b', 'a,b', 'a=b', 'a+b', 'a:b', 'a?b', 'a#b', 'a\\b',
  'a@', 'a@@1.0.0', 'a@1.0.0@2', 'a@^1.0.0', 'a@~1', 'a@1', 'a@1.x', 'a@*', 'a@x', 'a@X', 'a@>=1', 'a@1 - 2', 'a@1.0.0 || 2.0.0',
  'a@v1.0.0', 'a@=1.0.0', 'a@v1', 'a@01.0.0', 'a@1.0.0+build', 'a@1.0', 'a@1.0.0-', 'a@1.0.0-01', 'a@../x', 'a@Latest', 'a@-g',
  'a@--save', 'a@latest --save', 'a@latest\n', 'a@ latest', 'a@%6c', `a@t${'a'.repeat(64)}`, `a@1.0.0-${'a'.repeat(200)}`,
  'a@99999999999999999.0.0', 'a@l\u0430test', 'a@\u0661.0.0', 'a@__proto__', '[object Object]', '{"a":1}', 'a/../b', 'a'.repeat(1e6),
]

test.each(HOSTILE.map((spec) => [spec.length > 60 ? `${spec.slice(0, 20)}…` : JSON.stringify(spec), spec]))(
  '%s is refused as a package spec',
  (_, spec) => {
    const error = refusalOf(() => parseSpec(spec))
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).not.toMatch(/[\0\r\n]/)
  },
)

test.each([
  '',
  ' ',
  '^1.0.0',
  'npm:b',
  'file:..',
  '1.0.0 --save',
  '--save',
  'x',
  '*',
  'v1.0.0',
  '../x',
  'git+ssh://x/y',
  'LATEST',
])('the version %j is refused with a valid name', (version) => {
  expect(refusalOf(() => parseSpec('mcp-remote', version)).hint).toContain('exact version')
})

test('a version both in the name and in the version field is refused', () => {
  refusalOf(() => parseSpec('mcp-remote@1.0.0', '1.0.0'))
})

test('a login in a URL sent as a name is not in the error', () => {
  expect(refusalOf(() => parseSpec('https://jo:s3cret@x.example/y.tgz')).message).not.toContain('s3cret')
})

test('any text either matches the grammar or is refused', () => {
  const nearly = fc.stringMatching(/^@?[a-zA-Z0-9._~-]{0,12}\/?[a-z0-9._@-]{0,12}[ :^x*.0-9+-]{0,6}$/)
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), nearly),
      fc.option(fc.string(), { nil: undefined }),
      (name, version) => {
        try {
          const spec = parseSpec(name, version)
          expect(spec.name).toMatch(/^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/)
          expect(spec.requested).toMatch(
            spec.kind === 'version' ? /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/ : /^[a-z][a-z0-9._-]{0,63}$/,
          )
          const given = version === undefined ? name : `${name}@${version}`
          expect([spec.name, `${spec.name}@${spec.requested}`]).toContain(given)
          expect(idOf(spec.name)).toMatch(new RegExp(ID_PATTERN))
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          expect(error.code).toBe('invalid_package_spec')
        }
      },
    ),
    { numRuns: runs(300, 3000) },
  )
})

describe('package ids', () => {
  test('the id is the name if that is a valid id', () => {
    expect(idOf('mcp-remote')).toBe('mcp-remote')
  })

  test('an id that differs from the name has a digest, so that two names never share an id', () => {
    expect(idOf('@playwright/mcp')).toMatch(/^playwright-mcp-[0-9a-f]{6}$/)
    expect(idOf('@playwright/mcp')).not.toBe(idOf('playwright-mcp'))
    expect(idOf('@a-b/c')).not.toBe(idOf('@a/b-c'))
  })

  test.each(['a'.repeat(65), `a${'-'.repeat(80)}`, 'a-', `@${'s'.repeat(100)}/x`, 'a_'])(
    'the id of %s is valid and stable',
    (name) => {
      expect(idOf(name)).toMatch(new RegExp(ID_PATTERN))
      expect(idOf(name)).toBe(idOf(name))
    },
  )
})

function refusalOf(work: () => unknown): AppError {
  try {
    work()
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_package_spec' })
    return error as AppError
  }
  return expect.unreachable('the spec was accepted')
}
