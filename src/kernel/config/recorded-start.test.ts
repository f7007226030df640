import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE } from '../../../test/support/home-env.ts'
import { readConfig } from './config.ts'
import { configOfStart, forgetStart, recordedStart, recordStart } from './recorded-start.ts'
import { readFlags } from './up-flags.ts'

const SECRET = 'ab'.repeat(32)

function record(env: Record<string, string>, argv: readonly string[] = [], os: NodeJS.Platform = 'linux') {
  const home = ownFolder()
  const data = join(home, 'data')
  mkdirSync(data)
  const mainFile = join(home, 'checkout', 'dist', 'main.js')
  mkdirSync(join(home, 'checkout'))
  const read = () =>
    readConfig({
      flags: readFlags([...argv]),
      platform: { os, home, env: { TOOLROOM_HOME: data, ...env } },
      packageRoot: join(home, 'checkout'),
    })
  const keep = () => {
    recordStart(read(), mainFile)
    return recordedStart(data) ?? expect.unreachable()
  }
  return { home, data, mainFile, keep, file: join(data, 'agents-start.json') }
}

test('what is recorded of the environment is a list of names without secrets, in a file for its owner only', () => {
  const { data, keep, file } = record({
    PATH: '/usr/bin:/repo/node_modules/.bin:/home/me/.npm/_npx/1/node_modules/.bin:/bin',
    HOME: '/home/me',
    LANG: 'de_DE.UTF-8',
    LC_TIME: 'C',
    XDG_RUNTIME_DIR: '/run/user/1000',
    HTTPS_PROXY: 'http://me:pa/ss@proxy.test:3128',
    http_proxy: 'me:word@proxy.test:3128',
    NO_PROXY: '.corp.test',
    DOCKER_HOST: 'tcp://me:word@docker.test',
    GITHUB_TOKEN: 'ghp_1',
    AWS_SECRET_ACCESS_KEY: 'x',
    NODE_OPTIONS: '--require /tmp/x.js',
    AUTH_TOKEN: 'word-of-mine',
    TOOLROOM_SECRET_KEY: SECRET,
    TOOLROOM_KEY: 'tk_1',
    PORT: '9000',
  })
  expect(keep()).toEqual({
    env: {
      PATH: '/usr/bin:/bin',
      HOME: '/home/me',
      LANG: 'de_DE.UTF-8',
      LC_TIME: 'C',
      XDG_RUNTIME_DIR: '/run/user/1000',
      HTTPS_PROXY: 'http://proxy.test:3128',
      http_proxy: 'proxy.test:3128',
      NO_PROXY: '.corp.test',
      PORT: '9000',
      TOOLROOM_HOME: data,
    },
    not_recorded: ['AUTH_TOKEN', 'TOOLROOM_SECRET_KEY'],
  })
  expect(readFileSync(file, 'utf8')).not.toMatch(/word|pa\/ss|ghp_1|tk_1|abab/)
  expect(statSync(file).mode & 0o777).toBe(PRIVATE_FILE)
  forgetStart(data)
  expect([existsSync(file), recordedStart(data)]).toEqual([false, undefined])
  writeFileSync(file, '{"env":')
  expect(recordedStart(data)).toBeUndefined()
})

test('settings of flags and variables are recorded, and those of files are read again', () => {
  const flags = ['--port', '9000', '--protect-reads', '--allowed-hosts', 'a.test,b.test']
  const { home, data, mainFile, keep } = record({ LOG_LEVEL: 'debug', HOLD_CHANGED_TOOLS: 'true' }, flags)
  writeFileSync(join(data, '.env'), 'LOG_MAX_MB=64\nAUTH_TOKEN=x\n')
  writeFileSync(join(data, 'config.json'), '{"metrics_retention_days": 7}')
  const start = keep()
  expect(start).toEqual({
    env: {
      PORT: '9000',
      PROTECT_READS: 'true',
      ALLOWED_HOSTS: 'a.test,b.test',
      LOG_LEVEL: 'debug',
      HOLD_CHANGED_TOOLS: 'true',
      TOOLROOM_HOME: data,
    },
    not_recorded: [],
  })
  writeFileSync(join(data, '.env'), 'LOG_MAX_MB=128\n')
  expect(configOfStart(start, mainFile, home)).toMatchObject({
    port: 9000,
    protect_reads: true,
    allowed_hosts: ['a.test', 'b.test'],
    log_max_mb: 128,
    metrics_retention_days: 7,
    agents_start_service: true,
    folders: { data },
  })
  writeFileSync(join(data, 'config.json'), '{"agents_start_service": false}')
  expect(configOfStart(start, mainFile, home).agents_start_service).toBe(false)
})

test('on Windows names of variables have no case, and its programs get what they need', () => {
  const Path = 'C:\\Windows;C:\\repo\\node_modules\\.bin;C:\\Program Files\\nodejs'
  const { data, keep } = record({ Path, SystemRoot: 'C:\\Windows', GITHUB_TOKEN: 'x' }, [], 'win32')
  expect(keep().env).toEqual({
    Path: 'C:\\Windows;C:\\Program Files\\nodejs',
    SystemRoot: 'C:\\Windows',
    TOOLROOM_HOME: data,
  })
})
