import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import type { ServerView } from '../../src/servers/stdio/servers.schema.ts'
import { ownFolder } from './folder.ts'
import { atEnd } from './lifetime.ts'
import { sweeper } from './marked-processes.ts'
import { definition, post } from './running-servers.ts'
import { openTestService, type TestService } from './test-service.ts'
import { add } from './with-servers.ts'

type Kind = 'everything' | 'filesystem' | 'memory'
type Command = { readonly command: string; readonly args: readonly string[] }

/** The checkout; its node_modules contains the servers. */
const root = fileURLToPath(new URL('../../', import.meta.url))
const fileOf = (kind: Kind) => join(root, `node_modules/@modelcontextprotocol/server-${kind}/dist/index.js`)

export const byNode = (kind: Kind, ...args: string[]): Command => ({
  command: process.execPath,
  args: [fileOf(kind), ...args],
})

/** The shell has a second command, so it waits for the server instead of replacing itself with it. */
export const byShell = ({ command, args }: Command, before = '') => ({
  command: 'sh',
  args: ['-c', `${before}${[command, ...args].map((word) => `'${word}'`).join(' ')}; true`],
})

/** With an empty cache and offline: npx can only start what is in the folder. */
export const byNpx = (bin: string, args: readonly string[] = [], cwd = root) => ({
  command: 'npx',
  args: ['--no-install', bin, ...args],
  cwd,
  env: { npm_config_offline: 'true', npm_config_cache: join(ownFolder(), 'cache') },
})

const DEAF = ['--children=3', '--detached', '--live=60']
/** A server that ignores signals, with three such children, each in its own session. */
const deaf = definition('deaf', DEAF)
export const DEAF_PROCESSES = 1 + 3
export const deafByShell = () => byShell(deaf)
export const deafByDeafShell = () => byShell(deaf, "trap '' TERM; ")

/** The same from a local package. */
export function deafByNpx() {
  const folder = ownFolder()
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'mine', version: '1.0.0' }))
  const script = `#!/usr/bin/env node\nimport(${JSON.stringify(deaf.args[0])})\n`
  writeFileSync(join(folder, 'deaf-server'), script, { mode: 0o755 })
  symlinkSync('../../deaf-server', join(folder, 'node_modules/.bin/deaf-server'))
  return byNpx('deaf-server', DEAF, folder)
}

/** A service whose processes are counted by their mark; remaining ones are ended after the test. */
export async function openMarkedHouse() {
  const service = await openTestService()
  const mark = `TOOLROOM_CHILD=${readFileSync(join(service.data, 'child-mark'), 'utf8').trim()}`
  onTestFinished(async () => void (await sweeper.sweep(mark)))
  return { service, mark }
}

/** Registers a server and starts it. */
export async function run(service: TestService, definition: { readonly name: string }): Promise<ServerView> {
  const added = await add(service, definition)
  expect(added.statusCode, added.body).toBe(201)
  const started = await post(service, `/api/servers/${definition.name}/start`)
  expect(started.statusCode, started.body).toBe(200)
  return started.json()
}

/** Calls a tool through the REST API. */
export const call = (service: TestService, id: string, tool: string, args: object = {}) =>
  post(service, `/api/servers/${id}/tools/${tool}/call`, { arguments: args })

/** A second instance of a server without Toolroom; returns the raw text of its responses. */
export async function askDirectly(kind: Kind) {
  const { command, args } = byNode(kind)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  atEnd(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const tell = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let id = 0
  const ask = async (method: string, params: object = {}): Promise<string> => {
    id += 1
    const [head, tail] = ['{"result":', `,"jsonrpc":"2.0","id":${id}}`]
    const answers = on(lines, 'line', { signal: AbortSignal.timeout(10_000) })
    tell({ id, method, params })
    for await (const [line] of answers) {
      if (line.startsWith(head) && line.endsWith(tail)) return line.slice(head.length, -tail.length)
    }
    return expect.unreachable(`no response to ${method}`)
  }
  const clientInfo = { name: 'a test', version: '1' }
  await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } },
    clientInfo,
  })
  tell({ method: 'notifications/initialized' })
  return ask
}
