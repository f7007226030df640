import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { covers } from '../support/covers.ts'
import { ownFolder } from '../support/folder.ts'
import { stopwatchUntilExit } from '../support/measuring.ts'
import { launch, launchReady } from '../support/program.ts'
import { AUTHORISED, TOKEN } from '../support/test-service.ts'

const STRONG = TOKEN
const server = { name: 'GitHub', command: 'npx', env: { KEY: 'a-stored-secret' } }
const json = { 'content-type': 'application/json' }

async function addServer(address: string): Promise<void> {
  const headers = { ...json, ...AUTHORISED }
  const reply = await fetch(`${address}/api/servers`, {
    method: 'POST',
    headers,
    body: JSON.stringify(server),
  })
  expect(reply.status).toBe(201)
}

describe('an empty home directory', () => {
  test('the first start prints one line with the address, generates a token, and is healthy', async () => {
    covers('base-url', 'public-health', 'auth-3-token')
    const { address, output, data } = await launchReady({ env: { AUTH_TOKEN: '' } })
    const health = await fetch(`${address}/api/health`)
    const token = readFileSync(join(data, 'token'), 'utf8').trim()

    expect(output.stdout).toBe(`Toolroom is ready at ${address} (token in ${join(data, 'token')})\n`)
    expect(output.stderr).toBe('')
    expect(health.status).toBe(200)
    expect(await health.json()).toMatchObject({ status: 'ok', warnings: [] })
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    for (const name of ['token', 'toolroom.db', 'logs.db', 'lock.db', 'instance.json', 'reserve']) {
      expect(statSync(join(data, name)).mode & 0o777, name).toBe(0o600)
    }
    expect(statSync(data).mode & 0o777).toBe(0o700)
    const added = await fetch(`${address}/api/servers`, {
      method: 'POST',
      headers: { ...json, 'x-svc-token': token },
      body: JSON.stringify(server),
    })
    expect(added.status).toBe(201)
  })

  test('registered servers are kept across a restart', async () => {
    const first = await launchReady()
    await addServer(first.address)
    first.child.kill('SIGTERM')
    expect(await first.ended).toMatchObject({ code: 0, stderr: '' })

    const second = await launchReady({ home: first.home })
    const { items } = (await (await fetch(`${second.address}/api/servers`)).json()) as {
      items: { id: string }[]
    }
    expect(items.map(({ id }) => id)).toEqual(['github'])
    const audit = (await (await fetch(`${second.address}/api/logs?source=audit`)).json()) as {
      items: unknown[]
    }
    expect(audit.items).toMatchObject([{ source: 'audit', message: 'server added: github' }])
  })
})

describe('failed starts', () => {
  test.each(['0.0.0.0', '::', '0', '0x0', '', '[::]', '０'])(
    'HOST %j without an AUTH_TOKEN exits with 78 and one line',
    async (host) => {
      covers('host-0000-discouraged')
      const { code, stderr, stdout } = await launch({ env: { HOST: host } }).ended
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
      expect(stderr).toMatch(/^toolroom: HOST [^\n]+\n$/)
    },
  )

  test('a weak token is accepted on loopback with warnings, and refused on other addresses', async () => {
    const weak = await launchReady({ env: { AUTH_TOKEN: 'hunter2' } })
    const health = (await (await fetch(`${weak.address}/api/health`)).json()) as { warnings: string[] }
    const logs = (await (await fetch(`${weak.address}/api/logs?level=warn`)).json()) as {
      items: { message: string }[]
    }
    expect(weak.output.stderr).toMatch(/^Warning: AUTH_TOKEN is weak/)
    expect(health.warnings[0]).toMatch(/^AUTH_TOKEN is weak/)
    expect(logs.items.map(({ message }) => message)).toContainEqual(health.warnings[0])
    expect(await launch({ env: { HOST: '0.0.0.0', AUTH_TOKEN: 'hunter2' } }).ended).toMatchObject({
      code: 78,
    })
  })

  test('a port in use exits with 1 and names its owner', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const refused = launch({ env: { PORT: String(port) } })
    const { code, stderr } = await refused.ended
    expect(code).toBe(1)
    const databases = readdirSync(refused.data).filter((name) => name.endsWith('.db'))
    expect(
      databases.filter((name) => name !== 'lock.db'),
      'no database is created',
    ).toEqual([])
    expect(stderr).toMatch(
      new RegExp(`^toolroom: Port ${port} on 127.0.0.1 is in use by \\S+.*\\(process ${process.pid}\\)`),
    )

    const first = await launchReady()
    const second = await launch({ env: { PORT: new URL(first.address).port } }).ended
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('in use by another Toolroom') })
  })

  test('no server is started before the port is open', async () => {
    const first = await launchReady()
    const started = join(ownFolder(), 'started')
    const script = `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')`
    const eager = { name: 'eager', command: process.execPath, args: ['-e', script], start_mode: 'eager' }
    const headers = { ...json, ...AUTHORISED }
    await fetch(`${first.address}/api/servers`, { method: 'POST', headers, body: JSON.stringify(eager) })
    await fetch(`${first.address}/api/servers/eager/start?wait_s=0`, { method: 'POST', headers: AUTHORISED })
    await expect.poll(() => existsSync(started)).toBe(true)
    first.child.kill('SIGTERM')
    await first.ended
    rmSync(started)
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const second = await launch({ home: first.home, env: { PORT: String(port) } }).ended
    expect(second.code).toBe(1)
    expect(existsSync(started)).toBe(false)
    const third = await launchReady({ home: first.home })
    await expect.poll(() => existsSync(started)).toBe(true)
    third.child.kill('SIGTERM')
  })

  test('a data folder in use exits with 75 and does not affect the running service', async () => {
    const first = await launchReady()
    const second = await launch({ home: first.home }).ended
    expect(second.code).toBe(75)
    expect(second.stderr).toContain(`in use by the Toolroom at ${first.address} (process ${first.child.pid})`)
    expect((await fetch(`${first.address}/api/health`)).status).toBe(200)
  })

  test('an unknown flag, an invalid value and a file in place of the data folder exit with 78', async () => {
    expect(await launch({ argv: ['--prot', '1'] }).ended).toMatchObject({
      code: 78,
      stderr: "toolroom: Unknown flag '--prot'; see toolroom up --help\n",
    })
    expect(await launch({ env: { PORT: 'x' } }).ended).toMatchObject({ code: 78 })
    const home = ownFolder()
    writeFileSync(join(home, 'file'), '')
    expect(await launch({ home, env: { TOOLROOM_HOME: join(home, 'file') } }).ended).toMatchObject({
      code: 78,
    })
  })

  test('a missing secret key with stored secrets exits with 78 and creates no new key', async () => {
    const first = await launchReady()
    await addServer(first.address)
    first.child.kill('SIGTERM')
    await first.ended
    const key = join(first.home, '.config/toolroom/secret.key')
    const kept = readFileSync(key)
    expect(statSync(key).mode & 0o777).toBe(0o600)
    rmSync(key)
    const { code, stderr } = await launch({ home: first.home, env: { AUTH_TOKEN: TOKEN } }).ended
    expect({ code, made: existsSync(key) }).toEqual({ code: 78, made: false })
    expect(stderr).toContain(
      `The secret key for the stored secrets is missing; restore ${key}, or set TOOLROOM_SECRET_KEY`,
    )
    await launchReady({ home: first.home, env: { TOOLROOM_SECRET_KEY: kept.toString().trim() } })
  })

  test('the modes of a readable token file and data folder are corrected with a warning', async () => {
    const first = await launchReady({ env: { AUTH_TOKEN: '' } })
    first.child.kill('SIGTERM')
    await first.ended
    chmodSync(join(first.data, 'token'), 0o644)
    chmodSync(first.data, 0o755)
    const second = await launchReady({ home: first.home, env: { AUTH_TOKEN: '' } })
    expect(statSync(join(first.data, 'token')).mode & 0o777).toBe(0o600)
    expect(statSync(first.data).mode & 0o777).toBe(0o700)
    expect(second.output.stderr.match(/Warning: .*Its permissions were corrected/g)).toHaveLength(2)
  })

  test.runIf(process.getuid?.() === 0)('a data folder of another user is refused', async () => {
    const home = ownFolder()
    const theirs = join(home, 'theirs')
    mkdirSync(theirs)
    execFileSync('chown', ['65534', theirs])
    const { code, stderr } = await launch({ home, env: { TOOLROOM_HOME: theirs } }).ended
    expect({ code, stderr }).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('belongs to another user'),
    })
  })
})

describe('network addresses', () => {
  test('with a strong token the service listens on the network and prints warnings', async () => {
    covers('host-0000-discouraged')
    const { address, output } = await launchReady({ env: { HOST: '0.0.0.0', AUTH_TOKEN: STRONG } })
    expect(output.stderr).toContain('Reads are public; set PROTECT_READS=true to require the token')
    expect((await fetch(`${address.replace('0.0.0.0', '127.0.0.1')}/api/health`)).status).toBe(200)
  })
})

describe('shutdown', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s shuts down with exit 0 while a request is in flight',
    async (signal) => {
      const { address, child, ended } = await launchReady()
      const { port } = new URL(address)
      const slow = await fetch(`${address}/api/logs/download`)
      child.kill(signal)
      await slow.text()
      expect(await ended).toMatchObject({ code: 0, stderr: '' })
      await expect(fetch(`http://127.0.0.1:${port}/api/health`)).rejects.toThrow()
    },
  )

  test('a second signal ends the service immediately', async () => {
    const { address, child, ended } = await launchReady()
    const { hostname, port } = new URL(address)
    const { connect } = await import('node:net')
    const stuck = connect(Number(port), hostname)
    onTestFinished(() => void stuck.destroy())
    stuck.write(
      `POST /api/servers HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-SVC-Token: ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
    )
    await fetch(`${address}/api/health`) // by then, the stuck request has been read
    const spent = stopwatchUntilExit(child.pid)
    child.kill('SIGTERM')
    // A second signal that arrives before the first one was handled is lost.
    const more = setInterval(() => child.kill('SIGTERM'), 50)
    const { code } = await ended
    clearInterval(more)
    expect(code).toBe(130)
    expect(spent()).toBeLessThan(1500)
  })

  test('a signal during the start shuts the service down', async () => {
    const { child, ended } = launch()
    child.stdout.once('data', () => {})
    setTimeout(() => child.kill('SIGTERM'), 250)
    const { code, signal } = await ended
    expect(code === 0 || signal === 'SIGTERM').toBe(true)
  })
})
