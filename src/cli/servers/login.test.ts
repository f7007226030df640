import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { openLoginServer } from '../../../test/support/login-server.ts'
import { post } from '../../../test/support/running-servers.ts'
import { openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'

/** A command as a shell without a terminal starts it. */
function run(env: Record<string, string>, ...argv: string[]) {
  const child = spawn(process.execPath, [MAIN, ...argv], { env: { PATH: process.env.PATH, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }))
  const addressIn = async (stream: 'stdout' | 'stderr') => {
    await expect.poll(() => output[stream], { timeout: 30_000 }).toMatch(/^ {2}http\S+$/m)
    return /^ {2}(http\S+)$/m.exec(output[stream])?.[1] ?? ''
  }
  return { child, output, ended, addressIn }
}

async function openWithServer(name = 'Linear') {
  const service = await openTestService()
  const server = await openLoginServer()
  await post(service, '/api/http-servers', { name, url: server.url })
  return { service, ...server }
}

const at = ({ home, data }: TestService) => ({ HOME: home, TOOLROOM_HOME: data, AUTH_TOKEN: TOKEN })

test('toolroom login prints the address, waits for the browser and says how many tools there are; logout forgets the login (docs/checks.md, every command)', async () => {
  const { service, issuer, seen } = await openWithServer()
  const login = run(at(service), 'login', 'lin')
  const address = await login.addressIn('stdout')
  expect(address).toContain(`${issuer}/authorize?`)
  await fetch(address)
  expect(await login.ended).toEqual({
    code: 0,
    stdout: `To log in to Linear at ${new URL(issuer).host}, open this address:\n  ${address}\nLogged in to Linear: 2 tools\n`,
    stderr: '',
  })
  expect(await run(at(service), 'logout', 'linear').ended).toEqual({
    code: 0,
    stdout: 'Logged out of Linear\n',
    stderr: '',
  })
  expect(seen.revocations).toBe(1)
  const json = await run(at(service), 'logout', 'linear', '--client', '--json').ended
  expect([json.code, JSON.parse(json.stdout)]).toEqual([0, { server_id: 'linear', server_name: 'Linear' }])
})

test('with --json, stdout has one document, and the address of the last page can be pasted meanwhile', async () => {
  const { service } = await openWithServer()
  const login = run(at(service), 'login', 'linear', '--json', '--no-browser', '--scopes', 'read,admin')
  const address = await login.addressIn('stderr')
  expect(new URL(address).searchParams.get('scope')).toBe('read admin')
  const back = await fetch(address, { redirect: 'manual' })
  login.child.stdin.write(`${service.address}/oauth/callback?code=a&state=b\n\nnonsense\n`)
  await expect
    .poll(() => login.output.stderr)
    .toMatch(/not the address of this login(?:.|\n)+not the address of this login/)
  login.child.stdin.write(`  ${back.headers.get('location')}\n`)
  const { code, stdout } = await login.ended
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      server_id: 'linear',
      server_name: 'Linear',
      unconfirmed: false,
      ok: true,
      account: null,
      tools: 2,
      problem: null,
    },
  ])
})

test('a denied login exits 1 and says who denied it, also after an earlier denial', async () => {
  const { service, next } = await openWithServer()
  next.decision = 'deny'
  for (const flags of [[], ['--json', '--fresh']]) {
    const login = run(at(service), 'login', 'linear', ...flags)
    await fetch(await login.addressIn(flags.length > 0 ? 'stderr' : 'stdout'))
    const { code, stdout, stderr } = await login.ended
    expect(code).toBe(1)
    expect(stderr).toContain('toolroom: ')
    if (flags.length > 0)
      expect(JSON.parse(stdout)).toEqual({
        code: 'access_denied',
        detail: expect.any(String),
        hint: expect.any(String),
      })
  }
  expect((await run(at(service), 'status').ended).stdout).toMatch(/^ {2}Linear .*login refused: \S/m)
  next.decision = 'allow'
  const login = run(at(service), 'login', 'linear')
  await fetch(await login.addressIn('stdout'))
  expect((await login.ended).code).toBe(0)
})

test('a denial that comes before the command waits for one is seen at once', async () => {
  const { service, next } = await openWithServer()
  next.decision = 'deny'
  let denied: Promise<unknown> | undefined
  let reads = 0
  // Once the address is printed, every question about the login has to wait until it was denied.
  const between = createServer(async (request, response) => {
    const isAboutLogin = request.method === 'GET' && request.url?.endsWith('/login')
    if (isAboutLogin && login.output.stdout.includes('/authorize?')) {
      denied ??= login.addressIn('stdout').then(fetch)
      await denied
      reads += 1
    }
    const headers = { ...request.headers, host: new URL(service.address).host }
    const { method, url: path } = request
    const onward = httpRequest(new URL(path ?? '', service.address), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  await once(between.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void between.close())
  const { port } = between.address() as AddressInfo
  const login = run(at(service), 'login', 'linear', '--no-browser', '--url', `http://127.0.0.1:${port}`)
  expect(await login.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('denied') })
  expect(reads).toBe(1)
})

test.runIf(process.platform === 'linux')(
  'the browser of a desktop is opened with the address; over SSH and with --no-browser none is',
  async () => {
    const { service } = await openWithServer()
    const bin = ownFolder()
    mkdirSync(bin, { recursive: true })
    // A browser that follows redirects, as a real one does.
    const browser = `#!${process.execPath}\nfetch(process.argv[2])\n`
    writeFileSync(join(bin, 'xdg-open'), browser)
    chmodSync(join(bin, 'xdg-open'), 0o755)
    const desktop = { ...at(service), PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':0' }
    expect(await run(desktop, 'login', 'linear').ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Logged in to Linear: 2 tools'),
    })
    for (const [env, flags] of [
      [{ ...desktop, SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }, []],
      [desktop, ['--no-browser']],
    ] as const) {
      const login = run(env, 'login', 'linear', ...flags)
      const address = await login.addressIn('stdout')
      expect(
        (
          await service.inject({ url: '/api/http-servers/linear/login', headers: { 'x-svc-token': TOKEN } })
        ).json().auth.pending_until,
      ).not.toBeNull()
      await fetch(address)
      expect((await login.ended).code).toBe(0)
    }
  },
)

test('status names the command for a server that needs a login, or whose login has expired', async () => {
  const { service, expire } = await openWithServer()
  await post(service, '/api/http-servers/linear/test')
  expect((await run(at(service), 'status').ended).stdout).toMatch(
    /^ {2}Linear .*login needed: toolroom login linear$/m,
  )
  const { authorization_url } = (await post(service, '/api/http-servers/linear/login', {})).json()
  await fetch(authorization_url)
  expire()
  await post(service, '/api/http-servers/linear/test')
  const { stdout } = await run(at(service), 'status').ended
  expect(stdout).toMatch(/^ {2}Linear .*login expired: toolroom login linear$/m)
})

test.each([
  [['login'], 2, 'SERVER is missing: see toolroom login --help'],
  [['login', 'a', 'b'], 2, "Unexpected argument 'b': see toolroom login --help"],
  [['login', 'a', '--colour'], 2, "Unknown flag '--colour': see toolroom login --help"],
  [['login', 'a', '--scopes'], 2, '--scopes needs a value'],
  [['logout'], 2, 'SERVER is missing: see toolroom logout --help'],
  [['login', 'linear'], 3, 'Toolroom is not running: start it with `toolroom up`'],
  [['login', 'linear', '--url', 'http://127.0.0.1:9'], 3, 'Toolroom does not respond at http://127.0.0.1:9'],
])('%j without a service exits %i', async (argv, code, sentence) => {
  const answer = await run({ HOME: ownFolder() }, ...argv).ended
  expect(answer).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(sentence) })
})

test('an unknown server exits 5 with the name that was meant, a wrong token exits 4, and a login that is not possible exits 6', async () => {
  const { service, url } = await openWithServer('github')
  await post(service, '/api/http-servers', { name: 'keyed', url, headers: { Authorization: 'Bearer x' } })
  const unknown = await run(at(service), 'login', 'githb', '--json').ended
  expect([unknown.code, JSON.parse(unknown.stdout)]).toEqual([
    5,
    { code: 'not_found', detail: "No HTTP server is called 'githb'", hint: "Did you mean 'github'?" },
  ])
  expect((await run({ ...at(service), AUTH_TOKEN: 'f'.repeat(64) }, 'login', 'github').ended).code).toBe(4)
  expect(await run(at(service), 'login', 'keyed').ended).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('has a configured Authorization header'),
  })
  expect((await run(at(service), 'login', '--help').ended).stdout).toContain('--no-browser')
})
