import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { verdictOn } from '../../../test/support/answers.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { launchReady } from '../../../test/support/program.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'
import { openSqlite } from '../../store/sqlite/sqlite.ts'
import type { SettingView } from './settings.schema.ts'

const list = async (service: TestService, headers: Record<string, string> = AUTHORISED) => {
  const { items } = (await service.inject({ url: '/api/settings', headers })).json() as {
    items: SettingView[]
  }
  return new Map(items.map((item) => [item.key, item]))
}
const patch = (service: TestService, payload: object, headers: Record<string, string> = AUTHORISED) =>
  service.inject({ method: 'PATCH', url: '/api/settings', headers, payload })
const fileIn = (service: TestService) => JSON.parse(readFileSync(join(service.data, 'config.json'), 'utf8'))

describe('GET /api/settings (API section 11)', () => {
  test('lists every setting with its variable, value, default and source, and masks secrets', async () => {
    const service = await openTestService({ env: { LOG_MAX_MB: '64' } })
    expect(await verdictOn(service, { url: '/api/settings' })).toEqual([401, 'missing_token'])
    const settings = await list(service)
    expect(settings.get('log_max_mb')).toEqual({
      key: 'log_max_mb',
      env: 'LOG_MAX_MB',
      value: 64,
      default: 512,
      source: 'environment',
      restart_needed: false,
      secret: false,
    })
    expect(settings.get('log_level')).toMatchObject({ value: 'info', source: 'default', secret: false })
    expect(settings.get('auth_token')).toMatchObject({ value: '***', source: 'environment', secret: true })
    expect(settings.get('toolroom_secret_key')).toMatchObject({
      value: null,
      source: 'default',
      secret: true,
    })
    expect(settings.get('toolroom_home')).toMatchObject({ value: service.data })
  })
})

describe('PATCH /api/settings (API section 11)', () => {
  test('writes config.json for the owner only; what can change takes effect at once, and the rest after a restart', async () => {
    const home = ownFolder()
    const service = await openTestService({ home })
    const debugLines = async () => {
      await service.inject('/api/health')
      const { items } = (await service.inject('/api/logs?level=debug&source=service')).json()
      return items.filter(({ level }: { level: string }) => level === 'debug').length
    }
    expect(await debugLines()).toBe(0)
    const reply = await patch(service, { log_level: 'debug', metrics_retention_days: 7 })
    expect(reply.statusCode).toBe(200)
    expect(fileIn(service)).toEqual({ log_level: 'debug', metrics_retention_days: 7 })
    expect(statSync(join(service.data, 'config.json')).mode & 0o777).toBe(0o600)
    const changed = await list(service)
    expect(changed.get('log_level')).toMatchObject({
      value: 'debug',
      source: 'config_file',
      restart_needed: false,
    })
    expect(changed.get('metrics_retention_days')).toMatchObject({ value: 7, restart_needed: true })
    expect(await debugLines()).toBeGreaterThan(0)
    const audited = (await service.inject('/api/logs?source=audit')).json().items
    expect(audited[0]).toMatchObject({ message: 'settings changed: config.json' })
    await service.close()

    const again = await openTestService({ home })
    expect((await list(again)).get('metrics_retention_days')).toMatchObject({
      value: 7,
      restart_needed: false,
    })
    await patch(again, { log_level: null })
    expect(fileIn(again)).toEqual({ metrics_retention_days: 7 })
    expect((await list(again)).get('log_level')).toMatchObject({ value: 'info', source: 'default' })
  })

  test('an invalid value, an unknown key and a setting that cannot be changed here are 422, one set elsewhere is 409, and nothing is written', async () => {
    const service = await openTestService({ env: { LOG_MAX_MB: '64' } })
    const refused = async (payload: object) => {
      const reply = await patch(service, { log_level: 'debug', ...payload })
      const { code, errors, detail } = reply.json()
      return [reply.statusCode, code, errors?.[0]?.path ?? detail]
    }
    expect(await refused({ port: 70_000 })).toEqual([422, 'invalid_input', '/port'])
    expect(await refused({ log_levl: 'debug' })).toEqual([422, 'invalid_input', '/log_levl'])
    expect(await refused({ auth_token: 'x' })).toEqual([422, 'invalid_input', '/auth_token'])
    expect(await refused({ toolroom_home: '/x' })).toEqual([422, 'invalid_input', '/toolroom_home'])
    expect(await refused({ toolroom_secret_key: 'a' })).toEqual([
      422,
      'invalid_input',
      '/toolroom_secret_key',
    ])
    expect(await refused({ host: 'not a host' })).toEqual([422, 'invalid_input', '/host'])
    const elsewhere =
      'log_max_mb is set by the environment variable LOG_MAX_MB, which takes precedence over config.json'
    expect(await refused({ log_max_mb: 32 })).toEqual([409, 'set_elsewhere', elsewhere])
    expect(existsSync(join(service.data, 'config.json'))).toBe(false)
    expect((await list(service)).get('log_level')).toMatchObject({ value: 'info' })
  })

  test('a host on the network is refused without a strong token, because the next start would fail', async () => {
    const env = { AUTH_TOKEN: '' }
    const service = await openTestService({ env })
    const headers = { 'x-svc-token': readFileSync(join(service.data, 'token'), 'utf8').trim() }
    expect((await patch(service, { host: '0.0.0.0' }, headers)).json()).toMatchObject({
      code: 'invalid_input',
      errors: [{ path: '/host', message: expect.stringContaining('requires an AUTH_TOKEN') }],
    })
    expect((await patch(service, { host: '::1' }, headers)).statusCode).toBe(200)
  })

  test('a config.json that is broken by hand is reported and left alone, and the spelling of its keys is kept', async () => {
    const service = await openTestService()
    const file = join(service.data, 'config.json')
    writeFileSync(file, '{"LOG_LEVEL": "warn", ')
    expect((await patch(service, { log_max_mb: 32 })).json()).toMatchObject({
      status: 409,
      code: 'config_unparsable',
    })
    expect(readFileSync(file, 'utf8')).toBe('{"LOG_LEVEL": "warn", ')
    writeFileSync(file, '{"LOG_LEVEL": "warn"}')
    expect((await list(service)).get('log_level')).toMatchObject({ value: 'warn', restart_needed: true })
    expect((await patch(service, { log_level: 'error', log_max_mb: 32 })).statusCode).toBe(200)
    expect(fileIn(service)).toEqual({ LOG_LEVEL: 'error', log_max_mb: 32 })
  })
})

describe.runIf(process.platform === 'linux')('GET and PUT /api/service', () => {
  const put = (service: TestService, starts_at_login = true) =>
    service.inject({
      method: 'PUT',
      url: '/api/service',
      headers: AUTHORISED,
      payload: { starts_at_login },
    })
  const get = async (service: TestService) =>
    (await service.inject({ url: '/api/service', headers: AUTHORISED })).json()

  test('the unit is written and enabled, and the service that runs is neither stopped nor started', async () => {
    const bin = ownFolder()
    const log = join(bin, 'log')
    const fake = `#!/bin/sh\necho "$@" >>${log}\n[ "$2" = show ] && echo UnitFileState=enabled || true\n`
    writeFileSync(join(bin, 'systemctl'), fake, { mode: 0o755 })
    const service = await openTestService({ env: { PATH: `${bin}:${process.env.PATH}` } })
    const file = join(service.home, 'config/systemd/user/toolroom.service')
    expect(await verdictOn(service, { url: '/api/service' })).toEqual([401, 'missing_token'])
    expect(await get(service)).toEqual({ manager: 'systemd', file, starts_at_login: false, problem: null })
    expect([existsSync(file), readFileSync(log, 'utf8')]).toEqual([false, '--user show --property=Version\n'])
    expect((await put(service, false)).json()).toMatchObject({ errors: [{ path: '/starts_at_login' }] })
    expect((await put(service)).json()).toEqual({
      manager: 'systemd',
      file,
      starts_at_login: true,
      problem: null,
    })
    expect(readFileSync(file, 'utf8')).toContain(`"TOOLROOM_HOME=${service.data}"`)
    expect(readFileSync(log, 'utf8')).toContain('--user enable toolroom.service\n')
    expect(readFileSync(log, 'utf8')).not.toMatch(/start|disable/)
    const [audited] = (await service.inject('/api/logs?source=audit')).json().items
    expect(audited).toMatchObject({ message: 'autostart installed: service' })
    expect((await put(service)).statusCode).toBe(200)

    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(service.data, '/elsewhere'))
    const problem = `${file} starts the Toolroom of another data folder`
    expect(await get(service)).toMatchObject({ starts_at_login: false, problem })
    writeFileSync(file, '[Service]\n')
    const foreign = `${file} exists and was not written by Toolroom`
    expect((await put(service)).json()).toMatchObject({ code: 'not_supported', detail: foreign })
    expect(readFileSync(file, 'utf8')).toBe('[Service]\n')
  })

  test('without a session of systemd, the reason is given, and nothing is written', async () => {
    const bin = ownFolder()
    const fake = '#!/bin/sh\necho "Failed to connect to bus: No medium found" >&2; exit 1\n'
    writeFileSync(join(bin, 'systemctl'), fake, { mode: 0o755 })
    const service = await openTestService({ env: { PATH: `${bin}:${process.env.PATH}` } })
    const problem = expect.stringMatching(
      /^There is no session of systemd for this user, as in a container or after su \(.*Failed to connect to bus/,
    )
    expect(await get(service)).toMatchObject({ starts_at_login: false, problem })
    expect((await put(service)).json()).toMatchObject({
      status: 422,
      code: 'not_supported',
      detail: problem,
      hint: expect.stringContaining('toolroom up --detach'),
    })
    expect(existsSync(join(service.home, 'config/systemd'))).toBe(false)
  })
})

describe('POST /api/token/rotate (API section 11)', () => {
  test('replaces the generated token at once and for the next start, and login codes of the old one are void', async () => {
    const home = ownFolder()
    const env = { AUTH_TOKEN: '' }
    const service = await openTestService({ home, env })
    const file = join(service.data, 'token')
    const old = { 'x-svc-token': readFileSync(file, 'utf8').trim() }
    const { code } = (await service.inject({ method: 'POST', url: '/api/login-codes', headers: old })).json()
    const rotate = { method: 'POST', url: '/api/token/rotate' } as const
    expect(await verdictOn(service, rotate)).toEqual([401, 'missing_token'])
    const { token } = (await service.inject({ ...rotate, headers: old })).json()
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect(readFileSync(file, 'utf8').trim()).toBe(token)
    expect(await verdictOn(service, { url: '/api/keys', headers: old })).toEqual([401, 'invalid_token'])
    expect(await verdictOn(service, { url: '/api/keys', headers: { 'x-svc-token': token } })).toEqual([
      200,
      undefined,
    ])
    expect(await verdictOn(service, { method: 'POST', url: '/api/login', payload: { code } })).toEqual([
      401,
      'code_spent',
    ])
    expect((await service.inject('/api/logs?source=audit')).body).not.toContain(token)
    await service.close()
    const again = await openTestService({ home, env })
    expect((await again.inject({ url: '/api/keys', headers: { 'x-svc-token': token } })).statusCode).toBe(200)
  })

  test('changes nothing if the audit trail cannot be written, so an error never hides a token that is valid', async () => {
    const service = await openTestService({ home: ownFolder(), env: { AUTH_TOKEN: '' } })
    const token = readFileSync(join(service.data, 'token'), 'utf8')
    const headers = { 'x-svc-token': token.trim() }
    const other = openSqlite(join(service.data, 'toolroom.db'))
    other.exec("CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(FAIL, 'refused'); END")
    other.close()
    const rotate = { method: 'POST', url: '/api/token/rotate', headers } as const
    expect((await service.inject(rotate)).statusCode).toBe(500)
    expect((await patch(service, { log_max_mb: 32 }, headers)).statusCode).toBe(500)
    expect(readFileSync(join(service.data, 'token'), 'utf8')).toBe(token)
    expect(existsSync(join(service.data, 'config.json'))).toBe(false)
    expect((await list(service, headers)).get('log_max_mb')).toMatchObject({ value: 512 })
  })

  test('is refused while AUTH_TOKEN comes from the environment, and replaces one in config.json there', async () => {
    const service = await openTestService()
    const rotate = { method: 'POST', url: '/api/token/rotate', headers: AUTHORISED } as const
    expect(await verdictOn(service, rotate)).toEqual([409, 'set_elsewhere'])
    await service.close()
    writeFileSync(join(service.data, 'config.json'), JSON.stringify({ auth_token: TOKEN }))
    const other = await openTestService({ home: service.home, env: { AUTH_TOKEN: '' } })
    const { token } = (await other.inject(rotate)).json()
    expect(fileIn(other)).toEqual({ auth_token: token })
    expect((await list(other, { 'x-svc-token': token })).get('auth_token')).toMatchObject({
      value: '***',
      source: 'config_file',
      restart_needed: false,
    })
  })
})

describe('POST /api/shutdown (API section 11)', () => {
  test('ends the program with exit code 0, as SIGTERM does', async () => {
    const { address, ended } = await launchReady()
    await fetch(`${address}/api/shutdown`, { method: 'POST', headers: AUTHORISED })
    expect(await ended).toMatchObject({ code: 0, signal: null })
  })

  test('answers 202 and then closes the service, and needs the token', async () => {
    const service = await openTestService()
    const url = `${service.address}/api/shutdown`
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    const reply = await fetch(url, { method: 'POST', headers: AUTHORISED })
    expect([reply.status, await reply.json()]).toEqual([202, { status: 'stopping' }])
    await expect
      .poll(() =>
        fetch(`${service.address}/api/health`).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed')
  })
})
