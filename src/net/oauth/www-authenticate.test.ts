import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bearerChallenge, parseChallenges } from './www-authenticate.ts'

const URL = 'https://mcp.example.com/.well-known/oauth-protected-resource'
const LONG = 'scope:'.concat('x'.repeat(3000))

test.each([
  ['Bearer', [['bearer', {}]]],
  ['Bearer realm="a, b", error=invalid_token', [['bearer', { realm: 'a, b', error: 'invalid_token' }]]],
  [
    `Basic realm="x", Bearer resource_metadata="${URL}"`,
    [
      ['basic', { realm: 'x' }],
      ['bearer', { resource_metadata: URL }],
    ],
  ],
  [`Bearer resource_metadata=${URL}, scope="a b"`, [['bearer', { resource_metadata: URL, scope: 'a b' }]]],
  [
    'Negotiate YIIabc==, Bearer scope="a"',
    [
      ['negotiate', {}],
      ['bearer', { scope: 'a' }],
    ],
  ],
  [
    'Negotiate, NTLM, Bearer',
    [
      ['negotiate', {}],
      ['ntlm', {}],
      ['bearer', {}],
    ],
  ],
  ['BEARER Scope = "a\\"b\\\\c"', [['bearer', { scope: 'a"b\\c' }]]],
  [
    'Bearer scope="a", Bearer scope="b"',
    [
      ['bearer', { scope: 'a' }],
      ['bearer', { scope: 'b' }],
    ],
  ],
  ['Bearer scope="first", scope="second"', [['bearer', { scope: 'first' }]]],
  [`Bearer scope="${LONG}"`, [['bearer', { scope: LONG }]]],
  [
    'Bearer error="x", scope="never closed, Basic realm="',
    [['bearer', { error: 'x', scope: 'never closed, Basic realm=' }]],
  ],
  ['Bearer error="x", scope="never closed, Basic', [['bearer', { error: 'x' }]]],
  ['scope="no scheme"', []],
  [', , ,', []],
  [undefined, []],
] as [string | undefined, [string, Record<string, string>][]][])(
  'every challenge of WWW-Authenticate: %s is read whole',
  (header, expected) => {
    expect(parseChallenges(header).map(({ scheme, params }) => [scheme, params])).toEqual(expected)
  },
)

test('a login answers the Bearer challenge that names the metadata, wherever it is in the header', () => {
  expect(bearerChallenge('Basic realm="x"')).toBeUndefined()
  expect(bearerChallenge('Basic, Bearer scope="a"')?.params).toEqual({ scope: 'a' })
  expect(bearerChallenge(`Bearer scope="a", Bearer resource_metadata="${URL}"`)?.params).toEqual({
    resource_metadata: URL,
  })
  expect(bearerChallenge(`DPoP algs="ES256", resource_metadata="${URL}"`)?.scheme).toBe('dpop')
})

test('any list of challenges that is written by the rules is read back', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/)
  const params = fc.dictionary(word, fc.string(), { maxKeys: 4, noNullPrototype: true })
  const quoted = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`
  fc.assert(
    fc.property(fc.array(fc.tuple(word, params), { maxLength: 4 }), (challenges) => {
      const header = challenges
        .map(([scheme, own]) =>
          `${scheme} ${Object.entries(own)
            .map(([name, value]) => `${name}=${quoted(value)}`)
            .join(', ')}`.trim(),
        )
        .join(', ')
      expect(parseChallenges(header).map(({ scheme, params }) => [scheme, params])).toEqual(challenges)
    }),
  )
})
