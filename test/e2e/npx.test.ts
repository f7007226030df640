import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runningInstance } from '../../src/kernel/config/find-running-instance.ts'
import { VERSION } from '../../src/kernel/version.ts'
import { ownFolder } from '../support/folder.ts'
import { leftAfter } from '../support/marked-processes.ts'

const run = promisify(execFile)
const PACK = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url))
const HELLO = 'hello through the gateway'
const ECHO = fileURLToPath(new URL('../fixtures/servers/echo.mjs', import.meta.url))

test('on an empty computer, npx toolroom init --import all --connect cursor,claude-code --yes leaves a working gateway in both agents, and down, backup restore --all and service uninstall leave every byte as before and no process', async () => {
  const [target, home] = [ownFolder(), ownFolder()]
  await run(process.execPath, [PACK, target])
  const tarball = join(target, readdirSync(target)[0] ?? '')
  const echo = JSON.stringify({ command: process.execPath, args: [ECHO] })
  const files = {
    [join(home, '.cursor/mcp.json')]: `{ "mcpServers": { "echo": ${echo} } }\n`,
    [join(home, '.claude.json')]:
      `{\n\t"numStartups": 7,\n\t"mcpServers": { "other": ${JSON.stringify({ command: process.execPath, args: [ECHO, 'other'] })} },\n\t"theme": "dark"\n}`,
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const data = join(home, '.local/share/toolroom')
  const mark = `TOOLROOM_NPX_TEST=${home}`
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    PORT: '0',
    TOOLROOM_NPX_TEST: home,
    npm_config_prefer_offline: 'true',
    ...npmSettings(),
  }
  const npx = async (...argv: string[]) =>
    (await run('npx', ['--yes', `--package=${tarball}`, 'toolroom', ...argv], { env, cwd: home })).stdout
  onTestFinished(() => {
    const left = runningInstance(data)
    if (left) process.kill(left.pid, 'SIGKILL')
  })

  const done = await npx('init', '--import', 'all', '--connect', 'cursor,claude-code', '--yes')
  expect(done).toMatch(/^✓ cursor .*\n✓ claude-code /m)
  const { pid } = runningInstance(data) ?? expect.unreachable()
  // npm may delete its cache at any time.
  const copy = join(data, 'app', VERSION, 'node_modules/toolroom/dist/main.js')
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toContain(copy)
  for (const path of Object.keys(files)) {
    const { mcpServers } = JSON.parse(readFileSync(path, 'utf8'))
    expect(Object.keys(mcpServers), path).toEqual(['toolroom'])
    expect(JSON.stringify(mcpServers), path).not.toContain('_npx')
    expect(await callThrough(mcpServers.toolroom, home), path).toContain(HELLO)
  }

  await npx('down')
  await npx('backup', 'restore', '--all', '--yes')
  await npx('service', 'uninstall')
  for (const [path, text] of Object.entries(files)) expect(readFileSync(path, 'utf8'), path).toBe(text)
  expect(await leftAfter(mark)).toBe(0)
  expect(existsSync(join(home, '.config/systemd'))).toBe(false)
}, 400_000)

interface Entry {
  readonly url?: string
  readonly headers?: Record<string, string>
  readonly command?: string
  readonly args?: string[]
  readonly env?: Record<string, string>
}

/** Calls a tool as the agent does that has this entry. */
async function callThrough({ url, headers = {}, command = '', args = [], env = {} }: Entry, home: string) {
  const client = new Client({ name: 'an agent', version: '1' })
  const transport =
    url === undefined
      ? new StdioClientTransport({ command, args, env: { HOME: home, ...env } })
      : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  try {
    // The servers were registered a moment ago, and are started once to list their tools.
    const name = await vi.waitFor(
      async () => {
        const { tools } = await client.listTools()
        return tools.find((tool) => tool.name.endsWith('echo'))?.name ?? expect.unreachable('no tool')
      },
      { timeout: 60_000, interval: 200 },
    )
    return JSON.stringify(await client.callTool({ name, arguments: { text: HELLO } }))
  } finally {
    await client.close()
  }
}

/** Those of this computer, because the program has its own home directory. */
function npmSettings(): Record<string, string> {
  const { HOME = '' } = process.env
  return {
    npm_config_cache: process.env.npm_config_cache ?? `${HOME}/.npm`,
    npm_config_userconfig: `${HOME}/.npmrc`,
  }
}
