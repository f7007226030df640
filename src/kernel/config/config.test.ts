import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { assertMayBind, isStrong } from './auth-token.ts'
import { bindOf } from './bind-address.ts'
import { readConfig } from './config.ts'
import { foldersOf } from './paths.ts'
import { ENV_NAMES, settingRows } from './settings.ts'
import { readFlags } from './up-flags.ts'

/** An empty home folder. */
function computer() {
  const home = mkdtempSync(join(tmpdir(), 'toolroom-config-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const env: Record<string, string> = { TOOLROOM_HOME: home }
  const read = (...argv: string[]) =>
    readConfig({
      flags: readFlags(argv),
      platform: { os: 'linux', home, env },
      packageRoot: join(home, 'checkout'),
    })
  return { home, env, read, put: (name: string, text: string) => writeFileSync(join(home, name), text) }
}

describe('sources', () => {
  test('without any setting, the defaults of the specification apply', () => {
    covers('host-default', 'auth-2-header-default')
    const { read } = computer()
    expect(read()).toMatchObject({ host: '127.0.0.1', port: 8665, auth_token_header_name: 'X-SVC-Token' })
  })

  test('flags take precedence over environment, .env, config.json and defaults', () => {
    const { read, env, put } = computer()
    put('config.json', '{"port": 1, "log_level": "debug", "LOG_MAX_MB": 64}')
    put('.env', 'PORT=2\nLOG_MAX_MB=65\n')
    expect(read()).toMatchObject({ port: 2, log_level: 'debug', log_max_mb: 65 })
    env.PORT = '3'
    expect(read()).toMatchObject({ port: 3 })
    expect(read('--port', '4', '--protect-reads')).toMatchObject({ port: 4, protect_reads: true })
    expect(read('up', '--port=5', '--allowed-hosts=a.lan, b.lan:99')).toMatchObject({
      port: 5,
      allowed_hosts: ['a.lan', 'b.lan:99'],
    })
  })

  test('--env-file replaces the default .env', () => {
    const { read, home, put } = computer()
    put('.env', 'PORT=2\nLOG_MAX_MB=65\n')
    put('other.env', 'PORT=7\n')
    expect(read('--env-file', join(home, 'other.env'))).toMatchObject({ port: 7, log_max_mb: 512 })
  })

  test('a .env in the working folder is never read', () => {
    const { read, put } = computer()
    const before = process.cwd()
    const elsewhere = mkdtempSync(join(tmpdir(), 'toolroom-repo-'))
    onTestFinished(() => rmSync(elsewhere, { recursive: true }))
    writeFileSync(join(elsewhere, '.env'), 'PORT=6666\n')
    process.chdir(elsewhere)
    onTestFinished(() => process.chdir(before))
    put('unrelated', '')
    expect(read().port).toBe(8665)
  })
})

test.each([
  ['PORT', 'abc', 'PORT must be a whole number from 0 to 65535, not "abc"'],
  ['PORT', '65536', 'PORT must be a whole number from 0 to 65535, not 65536'],
  ['PORT', '80.5', 'PORT must be'],
  ['PROTECT_READS', 'yes', 'PROTECT_READS must be true or false, not "yes"'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, not "loud"'],
  ['LOG_MAX_MB', '1', 'LOG_MAX_MB must be'],
  ['AUTH_TOKEN', 'with space', 'AUTH_TOKEN must be 1 to 512 printable ASCII characters without a space'],
  [
    'AUTH_TOKEN_HEADER_NAME',
    'Host',
    'AUTH_TOKEN_HEADER_NAME must be a header name with no predefined meaning in HTTP, not "Host"',
  ],
  ['AUTH_TOKEN_HEADER_NAME', 'X Token', 'AUTH_TOKEN_HEADER_NAME must be a header name'],
  ['ALLOWED_HOSTS', 'a b', 'ALLOWED_HOSTS must be host names'],
  ['TOOLROOM_SECRET_KEY', 'abc', 'TOOLROOM_SECRET_KEY must be 64 hexadecimal digits'],
  ['PUBLIC_URL', 'http://toolroom.example.com', 'PUBLIC_URL must be an https URL such as'],
  ['PUBLIC_URL', 'https://user@toolroom.example.com', 'PUBLIC_URL must be an https URL such as'],
  ['PUBLIC_URL', 'https://toolroom.example.com/?x', 'PUBLIC_URL must be an https URL such as'],
  [
    'OAUTH_CLIENT_METADATA_URL',
    'https://example.com',
    'OAUTH_CLIENT_METADATA_URL must be an https URL with a path',
  ],
  ['MCP_REGISTRY_URL', 'ftp://x', 'MCP_REGISTRY_URL must be an http or https URL'],
])('the setting %s=%s is refused in one line', (name, value, sentence) => {
  const { read, env } = computer()
  env[name] = value
  expect(() => read()).toThrow(sentence)
})

test.each([
  ['AUTH_TOKEN', 'a token with spaces'],
  ['TOOLROOM_SECRET_KEY', 'a-key-that-is-not-hexadecimal'],
])('an error about %s does not contain its value, whatever it is and wherever it is set', (name, value) => {
  const { read, env, put } = computer()
  const refused = () => {
    try {
      read()
    } catch (error) {
      return String(error)
    }
    return expect.unreachable(`${name} was accepted`)
  }
  env[name] = value
  const messages = [refused()]
  delete env[name]
  put('.env', `${name}="${value}"\n`)
  messages.push(refused())
  put('.env', '')
  put('config.json', JSON.stringify({ [name.toLowerCase()]: value }))
  messages.push(refused())
  for (const message of messages) {
    expect(message.toLowerCase()).toContain(name.toLowerCase())
    expect(message).not.toContain(value)
  }
})

test.each([
  ['{"prot": 1}', 'has an unknown key "prot"'],
  ['{"port": "1"}', 'config.json must be a whole number from 0 to 65535, not "1"'],
  ['{"port": 1, "PORT": 2}', 'has the key "PORT" twice'],
  ['{"toolroom_home": "/x"}', 'cannot be set there'],
  ['[]', 'must contain one JSON object'],
  ['{', 'Cannot read '],
])('a config.json with %s is refused', (text, sentence) => {
  const { read, put } = computer()
  put('config.json', text)
  expect(() => read()).toThrow(sentence)
})

test.each([
  [['--protect-reads'], 'true'],
  [['--protect-reads', 'true'], 'true'],
  [['--protect-reads', 'false'], 'false'],
  [['--protect-reads=false', '--port', '1'], 'false'],
])('the flags %j set protect_reads to %s', (argv, value) => {
  expect(readFlags(argv).settings.get('protect_reads')).toBe(value)
})

test.each([
  [['up', '--restore'], { command: 'up', afterDamage: 'restore' }],
  [['--start-empty'], { command: 'up', afterDamage: 'start_empty' }],
  [['--restore=false'], { command: 'up' }],
  [['--port', '1', 'help'], { command: 'help' }],
  [['up', '-h'], { command: 'help' }],
  [['-v'], { command: 'version' }],
])('the flags %j mean %j', (argv, meaning) => {
  const { settings: _, ...flags } = readFlags(argv)
  expect(flags).toEqual(meaning)
})

test.each([
  [['--prot', '1'], "Unknown flag '--prot'; see toolroom up --help"],
  [['--prot=1'], "Unknown flag '--prot'; see toolroom up --help"],
  [['upp'], "Unknown command 'upp'; see toolroom up --help"],
  [['--port'], '--port needs a value'],
  [['--protect-reads=yes'], '--protect-reads must be true or false, not "yes"'],
  [['--auth-token', 'x'], 'set AUTH_TOKEN instead'],
  [['--auth-token=x'], 'set AUTH_TOKEN instead'],
  [['--env-file', '/does/not/exist'], 'Cannot read the environment file /does/not/exist: '],
])('the flags %j are refused', (argv, sentence) => {
  expect(() => computer().read(...argv)).toThrow(sentence)
})

test('.env.example has every setting', () => {
  const text = readFileSync('.env.example', 'utf8')
  expect([...ENV_NAMES].filter((name) => !new RegExp(`^(?:# )?${name}=`, 'm').test(text))).toEqual([])
})

test('the placeholder from .env.example never becomes the token', () => {
  covers('auth-3-default-token')
  const { read, env } = computer()
  env.AUTH_TOKEN = 'replace-me-with-64-random-hex-characters'
  expect(read().auth_token).toBeUndefined()
  expect(read().warnings).toEqual(['AUTH_TOKEN is the placeholder from .env.example and is ignored'])
})

describe('HOST', () => {
  test.each(['0.0.0.0', '::', '0', '0x0', '', '[::]', '000.0.0.0', '0.0', '::ffff:0.0.0.0', ' 0 '])(
    'HOST %j means the network',
    (host) => expect(bindOf(host)).toMatchObject({ loopback: false }),
  )

  test.each([
    '127.0.0.1',
    'localhost',
    '::1',
    '[::1]',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '127.9.9.9',
  ])('HOST %j means loopback', (host) => expect(bindOf(host)).toMatchObject({ loopback: true }))

  test.each(['０', 'a b', '256.1.1.1.1', 'http://x', '-'])('HOST %j is not an address', (host) => {
    expect(bindOf(host)).toBeUndefined()
    expect(() => assertMayBind(bindOf(host), host, undefined)).toThrow(
      'HOST must be an IP address or a host name',
    )
  })

  test('beyond loopback, a strong AUTH_TOKEN is required', () => {
    covers('host-0000-discouraged')
    const everywhere = bindOf('0.0.0.0')
    const strong = '0123456789abcdef'.repeat(4)
    expect(() => assertMayBind(everywhere, '0.0.0.0', undefined)).toThrow('requires an AUTH_TOKEN; set one')
    expect(() => assertMayBind(everywhere, '0.0.0.0', 'short')).toThrow('at least 32 bytes of randomness')
    expect(assertMayBind(everywhere, '0.0.0.0', strong)).toEqual({ address: '0.0.0.0', loopback: false })
  })

  test.each([
    ['a'.repeat(64), false],
    ['0123456789abcdef'.repeat(4), true],
    ['0123456789abcdef'.repeat(4).slice(1), false],
    ['Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFiY2RlZmdoaWo', true],
    ['hunter2', false],
  ])('whether the token %s is strong: %s', (token, strong) => {
    covers('auth-6-32-bytes')
    expect(isStrong(token)).toBe(strong)
  })
})

test('the data folder and the key folder follow the conventions of each platform', () => {
  const of = (os: NodeJS.Platform, home: string, env = {}) => foldersOf({ os, home, env })
  expect(of('linux', '/home/me')).toEqual({
    data: '/home/me/.local/share/toolroom',
    config: '/home/me/.config/toolroom',
  })
  expect(of('linux', '/home/me', { XDG_DATA_HOME: '/d', XDG_CONFIG_HOME: 'relative' })).toEqual({
    data: '/d/toolroom',
    config: '/home/me/.config/toolroom',
  })
  expect(of('darwin', '/Users/me').data).toBe('/Users/me/Library/Application Support/toolroom')
  expect(of('win32', 'C:\\Users\\me')).toEqual({
    data: 'C:\\Users\\me\\AppData\\Local\\toolroom',
    config: 'C:\\Users\\me\\AppData\\Roaming\\toolroom',
  })
})

test('the help lists every setting', () => {
  const labels = settingRows().map(([label]) => label)
  expect(labels).toEqual(expect.arrayContaining(['--host', '--port', 'AUTH_TOKEN (no flag)', '--log-max-mb']))
})

test('a home folder that is no absolute path is refused, because it would be another one in each folder', () => {
  for (const home of ['', 'home'])
    expect(() =>
      readConfig({
        flags: readFlags([]),
        platform: { os: 'linux', home, env: {} },
        packageRoot: '/nowhere',
      }),
    ).toThrow(`HOME must be an absolute path, not ${JSON.stringify(home)}`)
})
