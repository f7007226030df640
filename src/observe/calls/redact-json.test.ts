import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isObject } from '../../kernel/json/json-checks.ts'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { isSecretName, maskText } from '../../kernel/secrets/mask-secrets.ts'
import { isHarmless, redactJsonText } from './redact-json.ts'

const secrets = new KnownSecrets()
secrets.set('x', ['canary-secret-value', '12345678901'])

test.each([
  ['{"text":"hello","n":98765432109876543210}', '{"text":"hello","n":98765432109876543210}'],
  ['{"a":"it is canary-secret-value"}', '{"a":"it is ***"}'],
  ['{"canary-secret-value":[{"deep":"x"}]}', '{"***":[{"deep":"x"}]}'],
  [
    '{"password":"x","tokens":["a","b"],"key":5,"pat":{"a":"x"}}',
    '{"password":"***","tokens":["***","***"],"key":5,"pat":{"a":"x"}}',
  ],
  ['{"n":12345678901}', '{"n":"***"}'],
  ['{"a":"\\u0063anary-secret-value"}', '{"a":"***"}'],
  ['{"a":"canary-\\u001b[1msecret-value"}', '{"a":"***"}'],
  ['{"a":"line\\r\\nline \\u001b[31mred"}', '{"a":"line\\r\\nline \\u001b[31mred"}'],
  ['{"url":"https://me:pw@a.example/x?k=v"}', '{"url":"https://***@a.example/x?k=***"}'],
])('the payload %s is kept as %s', (text, kept) => {
  expect(redactJsonText(text, secrets)).toBe(kept)
})

test('a payload that is nested deeply is masked, and text that is not JSON, or has a secret in the digits of a number, is not kept as JSON', () => {
  const deep = `${'['.repeat(30_000)}"token"${']'.repeat(30_000)}`
  expect(redactJsonText(deep, secrets)).toContain('***')
  expect(redactJsonText('{"token":', secrets)).toBeUndefined()
  expect(redactJsonText('{"n":99999999999912345678901}', secrets)).toBeUndefined()
})

test('what one look calls harmless has no text and no name that is masked', () => {
  const piece = fc.constantFrom(
    'token',
    ' -u a:b',
    'ghp_0123456789abcdefghijABCDEFGHIJ',
    'a',
    '://x',
    'Bearer abcd',
    'Pat',
    ' ',
    '=',
    ':',
  )
  const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''))
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      text,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(text, tie('value'), { maxKeys: 3 }),
    ),
  })).value
  fc.assert(
    fc.property(json, (value) => {
      fc.pre(isHarmless(JSON.stringify(value), secrets))
      const check = (each: unknown): void => {
        if (typeof each === 'string') expect(maskText(secrets.redact(each))).toBe(each)
        else if (Array.isArray(each)) each.forEach(check)
        else if (isObject(each))
          for (const [name, member] of Object.entries(each)) {
            expect(isSecretName(name)).toBe(false)
            check(name)
            check(member)
          }
      }
      check(value)
    }),
    { numRuns: 300, seed: 8665 },
  )
})
