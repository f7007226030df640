import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MAIN } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { openTestService, TOKEN } from '../../../test/support/test-service.ts'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (env: Record<string, string>, ...argv: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env } }
    execFile(process.execPath, [MAIN, ...argv], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })

async function openService() {
  const service = await openTestService()
  const env = { HOME: service.home, TOOLROOM_HOME: service.data, AUTH_TOKEN: TOKEN }
  const codeOf = (text: string) => new RegExp(`${service.address}/#c=([\\w-]+)`).exec(text)?.[1] ?? ''
  return { service, env, codeOf }
}

test('toolroom open signs a browser in with a code that works once (docs/checks.md, signing in)', async () => {
  const { service, env, codeOf } = await openService()
  const redeem = async (code: string) =>
    (await service.inject({ method: 'POST', url: '/api/login', payload: { code } })).json()

  // On Windows and macOS there is always a browser, except over SSH.
  const remote = process.platform === 'linux' ? {} : { SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22' }
  const printed = await run({ ...env, ...remote }, 'open')
  const code = codeOf(printed.stdout)
  expect(printed).toEqual({
    code: 0,
    stdout: `Open this address within 10 minutes. It works once:\n  ${service.address}/#c=${code}\n`,
    stderr: '',
  })
  expect(await redeem(code)).toEqual({ token: TOKEN })
  expect(await redeem(code)).toMatchObject({ code: 'code_spent' })
  expect(codeOf(JSON.parse((await run(env, 'open', '--json')).stdout).url)).not.toBe('')
})

test.runIf(process.platform === 'linux')(
  'on a desktop toolroom open gives the address as one argument to xdg-open',
  async () => {
    const { service, env, codeOf } = await openService()
    const folder = ownFolder()
    const [opened, opener] = [join(folder, 'opened'), join(folder, 'bin', 'xdg-open')]
    mkdirSync(join(folder, 'bin'))
    writeFileSync(
      opener,
      `#!/bin/sh\nprintf '%s %s' "$#" "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`,
    )
    chmodSync(opener, 0o755)
    const desktop = { ...env, DISPLAY: ':0', PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    expect((await run(desktop, 'open')).stdout).toBe(`Opened the dashboard at ${service.address}\n`)
    await expect.poll(() => codeOf(readFileSync(opened, 'utf8'))).not.toBe('')
    expect(readFileSync(opened, 'utf8')).toMatch(/^1 http/)
  },
)

test('toolroom open says that no service is running, with exit code 3, and with --json as one document', async () => {
  const env = { HOME: ownFolder() }
  expect(await run(env, 'open')).toEqual({
    code: 3,
    stdout: '',
    stderr: 'toolroom: Toolroom is not running: start it with `toolroom up`\n',
  })
  const { code, stdout } = await run(env, 'open', '--json')
  expect([code, JSON.parse(stdout)]).toMatchObject([3, { code: 'not_running' }])
  expect((await run(env, 'open', 'x')).code).toBe(2)
})
