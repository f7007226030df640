import { describe, expect, test } from 'vitest'
import { npmSettings } from './npm-settings.ts'

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('registries', () => {
  test('the registry is not guessed when npm has no such setting', () => {
    expect(() => npmSettings('{}', [], {}).registryFor('@a/b')).toThrow('npm has no registry setting')
    expect(() => npmSettings('no json', [], {}).registry).toThrow('npm has no registry setting')
  })

  test("the registry is that of npm's config, or of the scope if it has its own", () => {
    const config = { registry: 'https://npm.example/all', '@work:registry': 'https://work.example/npm/' }
    const settings = npmSettings(JSON.stringify(config), ['registry=https://other.example/'], {})
    expect(settings.registryFor('left-pad')).toBe('https://npm.example/all/')
    expect(settings.registryFor('@work/tools')).toBe('https://work.example/npm/')
    expect(settings.registryFor('@works/tools')).toBe('https://npm.example/all/')
  })

  test('the registry of a scope can come from .npmrc alone, with variables, quotes and comments', () => {
    const text = `; a comment\n# another\n[section]\n@work:registry = "https://\${HOST}/npm"\r\n`
    expect(npmSettings('{}', [text], { HOST: 'work.example' }).registryFor('@work/x')).toBe(
      'https://work.example/npm/',
    )
  })

  test('an invalid registry setting never falls back to the public registry', () => {
    const settings = npmSettings('{"registry":"file:///etc","@work:registry":"nonsense"}', [], {})
    expect(() => settings.registry).toThrow(expect.objectContaining({ code: 'registry_unreachable' }))
    expect(() => settings.registryFor('@work/x')).toThrow(
      "npm's setting '@work:registry' is not an http or https URL",
    )
  })
})

describe('logins', () => {
  const text = [
    `//npm.example/team/:_authToken=\${TOKEN}`,
    '//npm.example/:_authToken=outer',
    `//old.example/:username=jo\n//old.example/:_password=${Buffer.from('pa:ss').toString('base64')}`,
    `//basic.example:_auth=${Buffer.from('jo:pw').toString('base64')}`,
    `//unset.example/:_authToken=\${MISSING}`,
    `//optional.example/:_authToken=a\${MISSING?}b`,
    '//127.0.0.1:4873/:_authToken=local',
    '//crlf.example/:_authToken="a\u0001b"',
    '_authToken=everybody',
  ].join('\n')
  const settings = npmSettings('{}', [text], { TOKEN: 't0ken' })

  test.each([
    ['https://npm.example/team/x', 'Bearer t0ken'],
    ['https://npm.example/team/@a%2fb', 'Bearer t0ken'],
    ['https://npm.example/teams/x', 'Bearer outer'],
    ['https://npm.example/team/../x', 'Bearer outer'],
    ['https://old.example/x', basic('jo:pa:ss')],
    ['https://basic.example/x', basic('jo:pw')],
    ['https://optional.example/x', 'Bearer ab'],
    ['http://127.0.0.1:4873/x', 'Bearer local'],
  ])('the login for %s is %s', (url, header) => {
    expect(settings.authorizationFor(url)).toBe(header)
  })

  test.each([
    'http://npm.example/team/x',
    'https://npm.example.evil.example/team/x',
    'https://evil.example/npm.example/team/x',
    'https://npm.example:8443/team/x',
    'https://npm.example@evil.example/team/x',
    'http://127.0.0.1:4874/x',
    'https://unset.example/x',
    'https://crlf.example/x',
    'https://other.example/x',
    'nonsense',
  ])('no login is sent to %s', (url) => {
    expect(settings.authorizationFor(url)).toBeUndefined()
  })

  test('a login in the URL of a registry is removed from it, and used for that registry only', () => {
    const own = npmSettings('{"registry":"https://jo:p%40ss@npm.example/x"}', [], {})
    expect(own.registry).toBe('https://npm.example/x/')
    expect(own.authorizationFor('https://npm.example/x/y')).toBe(basic('jo:p@ss'))
    expect(own.authorizationFor('https://npm.example/y')).toBeUndefined()
  })

  test('a login can come from the environment, as in CI', () => {
    const own = npmSettings('{}', [], { 'npm_config_//npm.example/:_authToken': 'ci' })
    expect(own.authorizationFor('https://npm.example/x')).toBe('Bearer ci')
  })
})
