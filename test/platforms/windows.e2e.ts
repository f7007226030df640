import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { homeEnv } from '../support/home-env.ts'
import { atEnd } from '../support/lifetime.ts'
import { npmEnv } from '../support/packages.ts'
import { openRegistry, toolPackage } from '../support/registry/registry.ts'
import { AUTHORISED, TOKEN } from '../support/test-service.ts'

/** Run by `npm run platforms`, on Windows, in a clone that has not been built. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const fixture = (name: string) => join(ROOT, 'test', 'fixtures', 'servers', `${name}.mjs`)

/** `node scripts/start.mjs`, as in a clone, with a client for its API. */
async function startClone() {
  const home = ownFolder()
  const registry = await openRegistry([toolPackage('weather-mcp')])
  atEnd(() => registry.close())
  const npm = npmEnv(home, registry.url)
  const env = { PATH: process.env.PATH, ...homeEnv(home), ...npm, PORT: '0', AUTH_TOKEN: TOKEN }
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: ROOT,
    env: { ...env, HTTP_CHECK_INTERVAL_S: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  atEnd(async () => {
    child.kill('SIGKILL')
    await ended // its files can be deleted only then
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const found = /ready at (http:\S+)/.exec(output)?.[1]
      if (found) resolve(found)
    })
    void ended.then(() => reject(new Error(`the service ended: ${output}`)))
  })
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { ...AUTHORISED, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(address + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    expect(reply.ok, `${method} ${path}: ${text}`).toBe(true)
    return text === '' ? undefined : JSON.parse(text)
  }
  const add = async (definition: object) =>
    (await ask('POST', '/api/servers', { start_mode: 'manual', ...definition })).id
  const start = (id: string) => ask('POST', `/api/servers/${id}/start?wait_s=120`)
  return { home, npm, address, child, ended, ask, add, start, output: () => output }
}

test('a clone starts on Windows, runs npx and an installed package, changes an agent, is searched, and says nothing about a reaper', async () => {
  const clone = await startClone()
  const { address, ask, add, start, home, npm } = clone
  expect((await fetch(`${address}/`)).status).toBe(200)

  const weather = await add({ name: 'weather', command: 'npx', args: ['--yes', 'weather-mcp'], env: npm })
  expect(await start(weather)).toMatchObject({ status: 'running', tool_count: 1 })

  const installed = await ask('POST', '/api/packages/install-npm', {
    name: 'weather-mcp',
    create_server: true,
  })
  expect(await start(installed.server.id)).toMatchObject({ status: 'running', tool_count: 1 })

  const file = join(home, '.cursor', 'mcp.json')
  const before = '{\n  "mcpServers": {}\n}\n'
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, before)
  await ask('POST', '/api/agents/cursor/connect')
  expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers).toHaveProperty('toolroom')
  await ask('POST', '/api/agents/cursor/undo', {})
  expect(readFileSync(file, 'utf8')).toBe(before)

  const { items } = await ask('GET', '/api/logs?search=reaper')
  expect(items).toEqual([])
  expect((await ask('GET', `/api/logs?source=audit&search=${weather}`)).items).not.toEqual([])
  expect(clone.output()).not.toContain('reaper')
  expect(existsSync(join(ROOT, 'dist', 'main.js'))).toBe(true)
})

test('on Windows a deaf server with children is gone within 8 s of a stop, and after a kill of the service', async () => {
  const { ask, add, start, child, ended } = await startClone()
  const pidsOf = async (name: string) => {
    const id = await add({
      name,
      command: process.execPath,
      args: [fixture('deaf'), '--children=2', '--detached'],
    })
    const { pid } = await start(id)
    const { content } = await ask('POST', `/api/servers/${id}/tools/children/call`, { arguments: {} })
    const pids = [pid, ...content[0].text.split(' ').map(Number)]
    expect(pids.filter(isAlive)).toEqual(pids)
    return { id, pids }
  }
  const stopped = await pidsOf('stopped')
  const startedAt = performance.now()
  await ask('POST', `/api/servers/${stopped.id}/stop`)
  expect(stopped.pids.filter(isAlive)).toEqual([])
  expect(performance.now() - startedAt).toBeLessThan(8000)

  const left = await pidsOf('left')
  child.kill('SIGKILL')
  await ended
  await expect.poll(() => left.pids.filter(isAlive)).toEqual([])
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
