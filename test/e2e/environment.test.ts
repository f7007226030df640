import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { leftAfter } from '../support/marked-processes.ts'
import { openService } from '../support/service-process.ts'

const ECHO = fileURLToPath(new URL('../fixtures/servers/echo.mjs', import.meta.url))
const BASH = '/bin/bash'

/** A home folder with a program that only the login shell finds. It notes its environment and how often the shell ran. */
function homeWithProfile(): string {
  const home = ownFolder()
  const folder = join(home, 'only the shell')
  mkdirSync(folder)
  const profile = [
    'echo run >>~/asked',
    'echo Welcome',
    'printf "no line break: "',
    'PATH="$PATH:$HOME/only the shell"',
  ]
  writeFileSync(join(home, '.bash_profile'), `${profile.join('\n')}\n`)
  writeFileSync(join(home, '.bash_logout'), 'echo PATH=/wrong; clear\n')
  const program = join(folder, 'only-here')
  writeFileSync(program, `#!/bin/sh\nenv >"$HOME/environment"\nexec '${process.execPath}' '${ECHO}'\n`)
  chmodSync(program, 0o755)
  return home
}

describe.runIf(existsSync(BASH))('where a server finds its programs', () => {
  test('a service without a terminal asks the login shell once for its PATH, and a server finds its programs there', async () => {
    const home = homeWithProfile()
    const given = {
      LANG: 'de_DE.UTF-8',
      TMPDIR: home,
      HTTPS_PROXY: 'http://proxy.example:3128',
      no_proxy: 'localhost',
      SSL_CERT_FILE: '/etc/ssl/company.pem',
      XDG_RUNTIME_DIR: join(home, 'run'),
    }
    const service = await openService({ home, env: { SHELL: BASH, OWN: 'ours', ...given } })
    for (const name of ['one', 'two']) {
      await service.add({ name, command: 'only-here' })
      expect(await service.start(name)).toMatchObject({ status: 'running' })
    }
    expect(readFileSync(join(home, 'asked'), 'utf8')).toBe('run\n')

    const lines = readFileSync(join(home, 'environment'), 'utf8').trim().split('\n')
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/).slice(0, 2)))
    expect(env).toMatchObject({ ...given, HOME: home, SHELL: BASH })
    for (const name of ['OWN', 'AUTH_TOKEN', 'PORT']) expect(env).not.toHaveProperty(name)
    const folders = env.PATH?.split(':') ?? []
    expect(folders.indexOf(join(home, 'only the shell'))).toBeGreaterThan(folders.indexOf('/bin'))
  })

  test('a service that was started from a terminal has its PATH, and does not ask the shell', async () => {
    const home = homeWithProfile()
    const service = await openService({ home, env: { SHELL: BASH, TERM: 'xterm' } })
    await service.add({ name: 'one', command: 'only-here' })
    const { body } = await service.ask('POST', '/servers/one/start')
    expect(body).toMatchObject({ last_error: { code: 'command_not_found' } })
    expect(existsSync(join(home, 'asked'))).toBe(false)
  })

  test('a shell that hangs delays neither a start for more than 5 s nor the end of the service', async () => {
    const home = ownFolder()
    const SHELL = join(home, 'hanging')
    writeFileSync(SHELL, '#!/bin/sh\nsleep 600 & wait\n')
    chmodSync(SHELL, 0o755)
    const [slow, ended] = await Promise.all([
      openService({ home, env: { SHELL } }),
      openService({ env: { SHELL } }),
    ])
    ended.child.kill('SIGTERM')
    expect(await ended.ended).toMatchObject({ code: 0 })
    expect(await leftAfter(ended.mark)).toBe(0)
    await slow.add({ name: 'one', command: process.execPath, args: [ECHO] })
    expect(await slow.start('one')).toMatchObject({ status: 'running' })
  })
})
