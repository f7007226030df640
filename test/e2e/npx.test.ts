import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { runningInstance } from '../../src/config/running-instance.ts'
import { VERSION } from '../../src/kernel/version.ts'
import { ownFolder } from '../support/folder.ts'
import { TOKEN } from '../support/house.ts'

const run = promisify(execFile)
const PACK = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url))
const ECHO = fileURLToPath(new URL('../fixtures/servers/echo.mjs', import.meta.url))
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

test('npx on an empty computer leaves a working gateway in two agents, and restore and down leave every byte and no process', async () => {
  const [target, home] = [ownFolder(), ownFolder()]
  await run(process.execPath, [PACK, target])
  const tarball = join(target, readdirSync(target)[0] ?? '')
  const entry = { command: process.execPath, args: [ECHO] }
  const files = {
    [join(home, '.cursor/mcp.json')]: `{ "mcpServers": { "echo": ${JSON.stringify(entry)} } }\n`,
    [join(home, '.config/Claude/claude_desktop_config.json')]: '{\n\t"mcpServers": {}\n}',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const data = join(home, '.local/share/toolroom')
  const env = {
    ...process.env,
    HOME: home,
    PORT: '0',
    AUTH_TOKEN: TOKEN,
    npm_config_prefer_offline: 'true',
    ...npmSettings(),
  }
  const npx = (...argv: string[]) =>
    run('npx', ['--yes', `--package=${tarball}`, 'toolroom', ...argv], { env, cwd: home })
  onTestFinished(() => {
    const left = runningInstance(data)
    if (left) process.kill(left.pid, 'SIGKILL')
  })

  await npx('up', '--detach')
  const { pid, address } = runningInstance(data) ?? expect.unreachable()
  const copy = join(data, 'app', VERSION, 'node_modules/toolroom/dist/main.js')
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toContain(copy)
  const post = async (path: string, body: object) => {
    const headers = { 'x-svc-token': TOKEN, 'content-type': 'application/json' }
    const reply = await fetch(`${address}/api${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    expect(reply.ok, path).toBe(true)
    return reply.json()
  }
  await post('/agents/import', {})
  for (const agent of ['cursor', 'claude-desktop'])
    await post(`/agents/${agent}/connect`, { take_over: true })

  // As Cursor does: over HTTP, with the key in its file.
  const [cursor = '', desktop = ''] = Object.keys(files)
  const { url, headers } = JSON.parse(readFileSync(cursor, 'utf8')).mcpServers.toolroom
  const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...headers, ...accept },
    body: JSON.stringify(INITIALIZE),
  })
  expect(await reply.text()).toContain('"serverInfo"')
  // As Claude Desktop does: the command in its file, which must not be in npm's cache.
  const { command, args, env: own } = JSON.parse(readFileSync(desktop, 'utf8')).mcpServers.toolroom
  expect(args).toEqual([copy, 'connect'])
  const bridge = run(command, args, { env: { HOME: home, ...own } })
  bridge.child.stdin?.end(`${JSON.stringify(INITIALIZE)}\n`)
  expect((await bridge).stdout).toContain('"serverInfo"')

  await post('/backups/restore', {})
  await npx('down')
  for (const [path, text] of Object.entries(files)) expect(readFileSync(path, 'utf8'), path).toBe(text)
  expect(existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))).toBe(false)
  expect(existsSync(join(home, '.config/systemd'))).toBe(false)
}, 300_000)

/** Those of this computer, because the program has its own home directory. */
function npmSettings(): Record<string, string> {
  const { HOME = '' } = process.env
  return {
    npm_config_cache: process.env.npm_config_cache ?? `${HOME}/.npm`,
    npm_config_userconfig: `${HOME}/.npmrc`,
  }
}
