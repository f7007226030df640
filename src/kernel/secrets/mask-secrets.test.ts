import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import {
  keepMaskedArgs,
  keepMaskedCommand,
  keepMaskedUrl,
  keepMaskedValues,
} from '../../servers/shared/masked-values.ts'
import { KnownSecrets } from './known-secrets.ts'
import { maskArgs, maskText, maskUrl, secretsIn } from './mask-secrets.ts'
import { publicArgs, publicCommand, publicDetail } from './public-command.ts'

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
    ['--pat', 'hunter2', '--pass', 'b', '-p', 'c', '--dsn=postgres://h/db'],
    ['--pat', '***', '--pass', '***', '-p', '***', '--dsn=***'],
  ],
  [
    ['-u', 'me:pw', '--user', 'me:pw', '-u', 'me', '-u', '1000:1000'],
    ['-u', '***', '--user', '***', '-u', 'me', '-u', '1000:1000'],
  ],
  [
    ['-phunter2', '-port', '--path', '/x', '--author', 'me', '--bypass', 'x'],
    ['-p***', '-port', '--path', '/x', '--author', 'me', '--bypass', 'x'],
  ],
  [
    ['--jwt', 'a', '--session', 'b', '--cookie', 'c', '--cred', 'd', '--sig', 'e', '--pwd', 'f'],
    ['--jwt', '***', '--session', '***', '--cookie', '***', '--cred', '***', '--sig', '***', '--pwd', '***'],
  ],
  [
    ['-c', 'export TOKEN=abc && FOO=1 run --pass hunter2 -p x -u a:b'],
    ['-c', 'export TOKEN=*** && FOO=1 run --pass *** -p *** -u ***'],
  ],
  [
    ['-c', 'export A=\'x y\'; db --password="a\\"b" --port 1'],
    ['-c', 'export A=\'***\'; db --password="***" --port 1'],
  ],
  [
    ['{"user":"me","apiKey":"abc","n":{"pat":"x y","l":1}}'],
    ['{"user":"me","apiKey":"***","n":{"pat":"***","l":1}}'],
  ],
  [['{"tokens":["a","b"],"x":1}'], ['{"tokens":[***],"x":1}']],
  [['Server=db;User Id=sa;Password=p@ss!;Port=1'], ['Server=db;User Id=sa;Password=***;Port=1']],
  [['say {\\"token\\":\\"abc def\\"} now'], ['say {\\"token\\":\\"***\\"} now']],
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
  ['sent Bearer ab.1 and basic dTpw', 'sent Bearer *** and basic ***'],
  ['password=hunter22, retry', 'password=***, retry'],
  ['{"api_key":"abc123"}', '{"api_key":"***"}'],
  ['commit 0123456789abcdef0123456789abcdef01234567', 'commit 0123456789abcdef0123456789abcdef01234567'],
  ['amqp://guest:guest@queue:5672', 'amqp://***@queue:5672'],
  ['GET https://a.example/x?k=abc#part failed', 'GET https://a.example/x?k=***#part failed'],
  ['run --pass hunter2 --verbose', 'run --pass *** --verbose'],
  ['sh -c "export DB=postgres && go"', 'sh -c "export DB=*** && go"'],
  ['unexpected token: end of input, tokens=1523', 'unexpected token: end of input, tokens=1523'],
  ['author: Bob, monkey path=/x', 'author: Bob, monkey path=/x'],
  ['the option --token is missing', 'the option --token is missing'],
  ['session=Ab12Cd34; pat: gh-12345', 'session=***; pat: ***'],
])('the text %j is logged as %j', (text, shown) => {
  expect(maskText(text)).toBe(shown)
})

test.each<[string, string[], string[]]>([
  ['npx', ['-y', 'some-package', 'run', 'hunter2'], ['-y', 'some-package', '***', '***']],
  [
    'npx',
    ['-y', '@scope/name@1.2.3', '/home/me/x', './y', 'C:\\\\z', '~/n'],
    ['-y', '@scope/name@1.2.3', '/home/me/x', './y', 'C:\\\\z', '~/n'],
  ],
  ['node', ['some-package', 'name@1.2.3', 'p@55word'], ['***', 'name@1.2.3', '***']],
  [
    'x',
    ['--port', '8080', '-1.5', 'true', 'false', 'yes'],
    ['--port', '8080', '-1.5', 'true', 'false', '***'],
  ],
  ['x', ['--token', '8080', '-p', '/x', '--pat', 'true'], ['--token', '***', '-p', '***', '--pat', '***']],
  [
    'x',
    ['https://a.example/mcp', 'https://a.example/?q=1', 'https://a:b@c.example/', 'https://a.example/#x'],
    ['https://a.example/mcp', '***', '***', '***'],
  ],
  [
    'x',
    ['https://a.example/s/aB3dE5fG7hI9jK1lM3nO5/mcp', '/x/0b7e8a52-1c2d-4e3f-8a9b-0c1d2e3f4a5b'],
    ['***', '***'],
  ],
  [
    'x',
    ['--flag=value', '-phunter2', '-pabc', '-Habc1', 'A=b', 'free text', '', '--'],
    ['***', '***', '***', '***', '***', '***', '***', '--'],
  ],
  ['sh', ['-c', 'export TOKEN=abc'], ['-c', '***']],
  ['x', ['{"a":1}', 'user:pw', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'], ['***', '***', '***']],
])('without the token, the arguments of %s %j are shown as %j (safety goal R24)', (command, args, shown) => {
  expect(publicArgs(command, args)).toEqual(shown)
})

test('without the token, a command and the details of an audit row show only what is certainly no secret (safety goal R24)', () => {
  expect(publicCommand('npx')).toBe('npx')
  expect(publicCommand('/usr/bin/node')).toBe('/usr/bin/node')
  expect(publicCommand('npm exec foo-mcp --token abc word')).toBe('npm exec foo-mcp --token *** ***')
  expect(publicCommand('TOKEN=abc run')).toBe('*** ***')
  const args = { before: ['a b', '/x'], after: ['--pass', 'x'] }
  const detail = {
    command: 'npx',
    args: ['-y', 'pkg', 'word'],
    id: 'x',
    changed: { args, command: { before: 'a b', after: 'c' } },
  }
  expect(publicDetail(detail)).toEqual({
    command: 'npx',
    args: ['-y', 'pkg', '***'],
    id: 'x',
    changed: {
      args: { before: ['***', '/x'], after: ['--pass', '***'] },
      command: { before: 'a ***', after: 'c' },
    },
  })
})

describe('known secrets', () => {
  test('known secrets are masked anywhere in a text, the longer one first, and also percent-encoded', () => {
    const known = new KnownSecrets()
    known.set('a', ['canary/one two', 'canary/one two three'])
    expect(known.redact('x canary/one two three y canary%2Fone%20two z')).toBe('x *** y *** z')
  })

  test('known secrets are masked as they are written in JSON', () => {
    const known = new KnownSecrets()
    known.set('a', ['canary "one"\ntwo'])
    expect(known.redact(JSON.stringify({ a: 'canary "one"\ntwo' }))).toBe('{"a":"***"}')
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

  test('*** keeps an argument or a command as it is shown without the token, and is refused elsewhere', () => {
    const stored = ['-y', 'run this', '--name', 'word']
    expect(keepMaskedArgs(['-y', '***', '--name', '***'], stored)).toEqual(stored)
    expect(() => keepMaskedArgs(['***', 'run this', '--name', 'word'], stored)).toThrow('no value is stored')
    expect(() => keepMaskedArgs(['-y', '***', '--name'], stored)).toThrow('no value is stored')
    expect(keepMaskedCommand('run --token=***', 'run --token=abc')).toBe('run --token=abc')
    expect(keepMaskedCommand('run ***', 'run --token=abc')).toBe('run --token=abc')
    expect(() => keepMaskedCommand('***', 'run')).toThrow('no value is stored')
    expect(() => keepMaskedCommand('run ***', undefined)).toThrow('no value is stored')
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
