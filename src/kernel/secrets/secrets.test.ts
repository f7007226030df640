import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { KnownSecrets } from './known-secrets.ts'
import { maskArgs, maskText, maskUrl, secretsIn } from './secrets.ts'
import { keepMaskedArgs, keepMaskedUrl, keepMaskedValues } from './write-back.ts'

const key = 'ghp_0123456789abcdefghijABCDEFGHIJ'

test.each([
  [
    ['--api-key', 'abc'],
    ['--api-key', '***'],
  ],
  [
    ['--token=abc', '-v'],
    ['--token=***', '-v'],
  ],
  [
    ['--no-token', '--verbose'],
    ['--no-token', '--verbose'],
  ],
  [
    ['-e', `GITHUB_TOKEN=${key}`],
    ['-e', 'GITHUB_TOKEN=***'],
  ],
  [
    ['--header', 'Authorization: Bearer abcdef'],
    ['--header', 'Authorization: Bearer ***'],
  ],
  [
    ['--header', 'X-Api-Key:abcdef'],
    ['--header', 'X-Api-Key:***'],
  ],
  [[`prefix ${key} suffix`], ['prefix *** suffix']],
  [['postgres://me:pw@db.example/x'], ['postgres://***@db.example/x']],
  [['https://a.example/mcp?mode=x&k=y'], ['https://a.example/mcp?mode=***&k=***']],
  [['0123456789abcdef0123456789abcdef'], ['***']],
  [
    ['-y', '@modelcontextprotocol/server-filesystem', '/home/me/notes'],
    ['-y', '@modelcontextprotocol/server-filesystem', '/home/me/notes'],
  ],
])('the arguments %j are shown as %j', (args, shown) => {
  expect(maskArgs(args)).toEqual(shown)
})

test.each([
  'key',
  'key=',
  '--',
  'a://',
  'Bearer ',
  '0a',
  'eyJ.',
  'eyJ-',
  'eyJaaaaaaaa-',
  'a.',
  'sk-',
  'password=',
  'password="',
  '://:@',
])('masking a long repetition of %j takes linear time', (piece) => {
  const time = (length: number) => {
    const text = piece.repeat(length / piece.length)
    const spent = stopwatch()
    maskArgs([text, text])
    maskText(text)
    maskUrl(`https://a.example/${text}`)
    return spent()
  }
  time(1000)
  expect(time(300_000)).toBeLessThan(1500)
})

test.each([
  ['https://a.example/mcp', 'https://a.example/mcp'],
  ['https://me:pw@a.example/mcp', 'https://***@a.example/mcp'],
  ['https://a.example/mcp?key=1&flag&b=', 'https://a.example/mcp?key=***&flag&b='],
  ['https://a.example/mcp?abc', 'https://a.example/mcp?***'],
  ['https://a.example/s/0123456789abcdefghij0123456789abcdef/mcp', 'https://a.example/s/***/mcp'],
  ['https://a.example/#frag', 'https://a.example/#***'],
])('the url %s is shown as %s', (url, shown) => {
  expect(maskUrl(url)).toBe(shown)
})

test.each([
  [`using ${key} now`, 'using *** now'],
  ['Authorization: Bearer abcdef.ghi', 'Authorization: Bearer ***'],
  ['password=hunter22, retry', 'password=***, retry'],
  ['{"api_key":"abc123"}', '{"api_key":"***"}'],
  ['commit 0123456789abcdef0123456789abcdef01234567', 'commit 0123456789abcdef0123456789abcdef01234567'],
  ['amqp://guest:guest@queue:5672', 'amqp://***@queue:5672'],
])('the text %j is logged as %j', (text, shown) => {
  expect(maskText(text)).toBe(shown)
})

describe('known secrets', () => {
  test('known secrets are masked anywhere in a text, the longer one first, and also percent-encoded', () => {
    const known = new KnownSecrets()
    known.set('a', ['canary/one two', 'canary/one two three'])
    expect(known.redact('x canary/one two three y canary%2Fone%20two z')).toBe('x *** y *** z')
  })

  test('known secrets are removed with their owner, and short ones are never masked', () => {
    const known = new KnownSecrets()
    known.set('a', ['abc', 'canary-secret'])
    expect(known.redact('abc canary-secret')).toBe('abc ***')
    known.delete('a')
    expect(known.redact('abc canary-secret')).toBe('abc canary-secret')
  })

  test('secrets are collected from env, headers, args and url, without plain settings', () => {
    const found = secretsIn({
      env: { NODE_ENV: 'production', FOO: 'canary-env-value', API_KEY: 'plainword', DIR: '/home/me/x' },
      headers: { authorization: 'Bearer canary-header' },
      args: ['--token', 'canary-arg'],
      url: 'https://a.example/?k=canary%20query',
    })
    expect(found).toEqual([
      'canary-env-value',
      'plainword',
      'Bearer canary-header',
      'canary-header',
      'canary-arg',
      'canary query',
    ])
  })
})

describe('writing *** back', () => {
  test('*** keeps a stored value with the same key, and is refused if there is none', () => {
    expect(keepMaskedValues('env', { A: '***', B: 'new' }, { A: 'old', C: 'gone' })).toEqual({
      A: 'old',
      B: 'new',
    })
    expect(() => keepMaskedValues('env', { X: '***' }, { A: 'old' })).toThrow(
      'env contains *** where no value is stored',
    )
    expect(() => keepMaskedValues('env', { toString: '***' }, {})).toThrow(
      'env contains *** where no value is stored',
    )
  })

  test('*** keeps an argument at the same position if the number of arguments is the same', () => {
    expect(keepMaskedArgs(['--token', '***', '-q'], ['--token', 'abc', '-v'])).toEqual([
      '--token',
      'abc',
      '-q',
    ])
    expect(keepMaskedArgs(['--token=***'], ['--token=abc'])).toEqual(['--token=abc'])
    expect(() => keepMaskedArgs(['--token', '***', '-q'], ['--token', 'abc'])).toThrow(
      'where no value is stored',
    )
    expect(() => keepMaskedArgs(['***', '--token'], ['--token', 'abc'])).toThrow('where no value is stored')
  })

  test('*** keeps a whole URL, or single query values of the same origin', () => {
    const stored = 'https://a.example/mcp?key=abc'
    expect(keepMaskedUrl('https://a.example/mcp?key=***', stored)).toBe(stored)
    expect(keepMaskedUrl('https://a.example/v2?key=***', stored)).toBe('https://a.example/v2?key=abc')
    expect(() => keepMaskedUrl('https://evil.example/mcp?key=***', stored)).toThrow(
      'where no value is stored',
    )
    expect(() => keepMaskedUrl('https://a.example/mcp?other=***', stored)).toThrow('where no value is stored')
  })
})
