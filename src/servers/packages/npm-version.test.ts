import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { explainNpm } from './npm-failure.ts'
import { npmEnvironment, npmInstall, npmInstallWithScripts } from './npm-install.ts'
import { checksSources, type Npm, npmVersions } from './npm-version.ts'

test.each([
  ['E404', '404 Not Found - GET x - Not found', 'package_not_found'],
  ['ETARGET', 'No matching version found for x@9.', 'package_not_found'],
  ['E401', 'Unable to authenticate', 'registry_refused'],
  ['E403', '403 Forbidden', 'registry_refused'],
  ['ENEEDAUTH', 'need auth', 'registry_refused'],
  ['ENOTFOUND', 'request to the registry failed', 'registry_unreachable'],
  ['ECONNREFUSED', 'connect ECONNREFUSED', 'registry_unreachable'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate', 'registry_unreachable'],
  ['ETIMEDOUT', 'network timeout', 'registry_timeout'],
  ['EINTEGRITY', 'sha512-a integrity checksum failed', 'install_failed'],
  ['TAR_BAD_ARCHIVE', 'Unrecognized archive format', 'install_failed'],
  ['EBADENGINE', 'Unsupported engine', 'node_too_old'],
  ['EBADPLATFORM', 'Unsupported platform', 'install_failed'],
  ['ENOSPC', 'no space left on device', 'disk_full'],
  ['E503', '503 Service Unavailable', 'registry_failed'],
  ['EALLOWGIT', 'Fetching packages of type "git" have been disabled', 'install_failed'],
  ['ERESOLVE', 'unable to resolve dependency tree', 'install_failed'],
])('the npm error %s is explained', (code, words, expected) => {
  for (const start of ['npm error', 'npm ERR!']) {
    const lines = [
      'npm http fetch GET 200',
      `${start} code ${code}`,
      `${start} ${words}`,
      `${start} A complete log of this run is at x`,
    ]
    const error = explainNpm('weather', lines)
    expect(error.code).toBe(expected)
    expect(error.message).toContain('weather')
    expect(error.message).toContain(words)
  }
})

test('without an npm error code, the last line of output is quoted', () => {
  expect(explainNpm('weather', []).message).toContain('npm wrote no output')
  expect(explainNpm('weather', ['something odd']).message).toContain('something odd')
})

test('the environment of npm has no variables of Toolroom or of an outer npm', () => {
  const env = npmEnvironment({
    HOME: '/home/me',
    HTTPS_PROXY: 'http://proxy.example',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    npm_config_registry: 'https://npm.example/',
    npm_config_local_prefix: '/checkout',
    npm_config_ignore_scripts: 'false',
    npm_package_name: 'toolroom',
    npm_lifecycle_event: 'start',
    AUTH_TOKEN: 'secret',
    TOOLROOM_SECRET_KEY: 'secret',
    TOOLROOM_HOME: '/data',
    INIT_CWD: '/checkout',
    UNSET: undefined,
  })
  expect(Object.keys(env).sort()).toEqual([
    'HOME',
    'HTTPS_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'npm_config_registry',
  ])
})

const printing =
  (code: number, ...lines: string[]): Npm =>
  async ({ onLine }) => {
    for (const line of lines) onLine?.(line.startsWith('npm ') ? 'stderr' : 'stdout', line)
    return { code, cut: null }
  }

test('A5: an npm that could not write every file, and reports success, has failed because of the full disk', async () => {
  const npm = printing(
    0,
    'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write',
    'added 3 packages',
  )
  const what = { name: 'weather', folder: '/data/staging', versions: { npm: '10.8.2', node: '20.20.2' } }
  const how = { signal: new AbortController().signal, onLine: () => {} }
  await expect(npmInstall(npm, what, how)).rejects.toMatchObject({ code: 'disk_full' })
})

test('an install whose scripts print 100 MB holds less than 20 MB of it, and a failure is still explained', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const heldMb = () => {
    collect()
    return process.memoryUsage().heapUsed / 1_048_576
  }
  const before = heldMb()
  let grownMb = Number.POSITIVE_INFINITY
  const npm: Npm = async ({ onLine }) => {
    onLine?.('stderr', 'npm error code E404')
    onLine?.('stderr', 'npm error 404 Not Found')
    for (let n = 0; n < 100_000; n += 1) onLine?.('stdout', Buffer.alloc(1000, `${n} `).toString('latin1'))
    grownMb = heldMb() - before
    return { code: 1, cut: null }
  }
  const what = { name: 'weather', folder: '/data/staging', versions: { npm: '11.16.0', node: '20.20.2' } }
  const how = { signal: new AbortController().signal, onLine: () => {} }
  await expect(npmInstallWithScripts(npm, what, how)).rejects.toMatchObject({
    code: 'package_not_found',
    message: expect.stringContaining('404 Not Found'),
  })
  expect(grownMb).toBeLessThan(20)
})

test.each([
  ['10.8.2', false],
  ['11.15.0', false],
  ['11.16.0', true],
  ['12.0.1', true],
])('R25: npm %s refuses dependencies from outside of the registry itself: %s', async (npm, expected) => {
  const json = JSON.stringify({ 'my-project': '1.0.0', npm, node: '20.20.2' }, null, 2).split('\n')
  const read = await npmVersions(printing(0, 'npm warn config unknown', ...json))
  expect([read, checksSources(read)]).toEqual([{ npm, node: '20.20.2' }, expected])
})

test('an npm that does not print its version in 2 minutes is named as the reason', async () => {
  const error = { code: 'install_failed', message: expect.stringContaining('did not end in 2 minutes') }
  await expect(npmVersions(async () => ({ code: null, cut: 'late' }))).rejects.toMatchObject(error)
})

test.each([
  ['{"npm": "9.9.4", "node": "20.20.2"}', 'npm 9.9.4 is too old'],
  ['{"npm": "12", "node": "20.20.2"}', "'npm version' printed no version"],
  ['{"npm": "12.0.0"}', "'npm version' printed no version"],
  ['', "'npm version' printed no version"],
])("R25: no package is installed with an npm that says '%s' about its version", async (json, message) => {
  const error = { code: 'install_failed', message: expect.stringContaining(message) }
  await expect(npmVersions(printing(0, json))).rejects.toMatchObject(error)
})
