import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { definition, get, post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

interface Failing {
  readonly server: object
  readonly status: 'failed' | 'backoff' | 'idle'
  readonly code: string
  /** Part of the message: one sentence with the cause, which quotes the output of the server. */
  readonly message: string | RegExp
  /** One sentence with the next action. */
  readonly hint: string | RegExp
}

const script = (code: string, more: object = {}) => ({
  name: 'it',
  command: process.execPath,
  args: ['-e', code],
  timeouts: { start_s: 60, stop_s: 1 },
  ...more,
})

const folder = mkdtempSync(join(tmpdir(), 'toolroom-failing-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (name: string, text: string, mode: number) => {
  writeFileSync(join(folder, name), text)
  chmodSync(join(folder, name), mode)
  return join(folder, name)
}

const FAILING: Readonly<Record<string, Failing>> = {
  'a command that does not exist': {
    server: { name: 'it', command: 'no-such-program' },
    status: 'failed',
    code: 'command_not_found',
    message: "'no-such-program' was not found in any of these folders: ",
    hint: 'Install it, check the command, or use the full path of the program',
  },
  'a whole command line as command': {
    server: { name: 'it', command: 'npx -y server-memory' },
    status: 'failed',
    code: 'command_not_found',
    message: "'npx -y server-memory' was not found",
    hint: "command must be the program alone: set command to 'npx' and move the rest to args",
  },
  'a file that is not executable': {
    server: { name: 'it', command: file('plain.js', '', 0o600) },
    status: 'failed',
    code: 'not_executable',
    message: /plain\.js is not executable$/,
    hint: /^Run: chmod \+x '.*plain\.js', or set command to its interpreter$/,
  },
  'a script whose interpreter does not exist': {
    server: { name: 'it', command: file('script', '#!/usr/bin/env no-such-interpreter\n', 0o700) },
    status: 'failed',
    code: 'bad_interpreter',
    message: "it needs 'no-such-interpreter', which was not found",
    hint: 'Install it, check the command, or use the full path of the program',
  },
  'a working folder that does not exist': {
    server: { ...definition('echo'), name: 'it', cwd: '/no/such/folder' },
    status: 'failed',
    code: 'cwd_not_found',
    message: 'its working folder /no/such/folder does not exist',
    hint: 'Create the folder, or set cwd to an existing folder',
  },
  'a program that answers, but not as an MCP server': {
    server: script(
      `process.stdin.once('data', (d) => console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(d).id, result: { hello: 1 } })))`,
    ),
    status: 'failed',
    code: 'not_mcp',
    message: 'Its response to initialize is not valid MCP',
    hint: /MCP server/,
  },
  'a server that rejects the handshake': {
    server: script(
      `process.stdin.on('data', (d) => { for (const l of String(d).split('\\n').filter(Boolean)) { const { id } = JSON.parse(l); if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'licence expired' } })) } })`,
    ),
    status: 'backoff',
    code: 'handshake_failed',
    message: 'licence expired',
    hint: /./,
  },
  'a missing environment variable': {
    server: { ...definition('noenv'), name: 'it' },
    status: 'failed',
    code: 'missing_setting',
    message:
      'The process exited with code 1 before it was ready: Error: the environment variable API_KEY is required',
    hint: 'Set API_KEY in env',
  },
  'a missing module': {
    server: script(`console.error("Error: Cannot find module 'left-pad'"); process.exit(1)`),
    status: 'failed',
    code: 'module_not_found',
    message: "Error: Cannot find module 'left-pad'",
    hint: /left-pad/,
  },
  'a script that does not exist': {
    server: { name: 'it', command: process.execPath, args: ['/no/such/server.js'] },
    status: 'failed',
    code: 'module_not_found',
    message: "Error: Cannot find module '/no/such/server.js'",
    hint: /\/no\/such\/server\.js/,
  },
  'a native module for another machine': {
    server: script(`process.dlopen({ exports: {} }, ${JSON.stringify(file('addon.node', 'text', 0o600))})`),
    status: 'backoff',
    code: 'native_module',
    message: /addon\.node: (?:file too short|invalid ELF header)/,
    hint: /[Rr]einstall|[Rr]ebuild|install scripts/,
  },
  'a port that is in use': {
    server: script(
      `const net = require('net'); const a = net.createServer().listen(0, '127.0.0.1', () => net.createServer().listen(a.address().port, '127.0.0.1'))`,
    ),
    status: 'backoff',
    code: 'port_in_use',
    message: /Error: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+/,
    hint: /port/i,
  },
  'a server that exits without output': {
    server: script('process.exit(3)'),
    status: 'backoff',
    code: 'exited',
    message: 'The process exited with code 3 before it was ready without an error message',
    hint: /terminal/,
  },
  'a program that exits at once without an error': {
    server: script('console.log("usage: it [options]")'),
    status: 'idle',
    code: 'exited',
    message: 'The process exited without an error',
    hint: /./,
  },
  'a server that is killed': {
    server: script(`process.kill(process.pid, 'SIGKILL')`),
    status: 'backoff',
    code: 'killed',
    message: 'SIGKILL',
    hint: /memory/,
  },
  'a server that does not answer': {
    server: script('setInterval(() => {}, 1000)', { timeouts: { start_s: 2, stop_s: 1 } }),
    status: 'backoff',
    code: 'start_timeout',
    message: 'It did not answer initialize within 2 s',
    hint: /timeouts\.start_s/,
  },
  'a server that writes text to stdout instead of MCP': {
    server: script(`console.log('Listening on port 3000'); setInterval(() => {}, 1000)`, {
      timeouts: { start_s: 5, stop_s: 1 },
    }),
    status: 'backoff',
    code: 'start_timeout',
    message: 'First line: "Listening on port 3000"',
    hint: /uses the stdio transport/,
  },
}

/** Each test deletes its server, and with it what is known of it. */
const shared = sharedByTests(() => openTestService())

test.each(Object.entries(FAILING))(
  'the error of %s has the cause and the next action',
  async (_, expected) => {
    const service = await shared()
    onTestFinished(async () => {
      await service.inject({ method: 'DELETE', url: '/api/servers/it', headers: AUTHORISED })
    })
    expect((await add(service, { ...expected.server, name: 'it' })).statusCode).toBe(201)
    const started = await post(service, '/api/servers/it/start')
    expect(started.statusCode).toBe(expected.code === 'start_timeout' ? 504 : 502)
    const { status, last_error, health } = await get(service, 'it')
    expect({ status, code: last_error?.code }).toEqual({ status: expected.status, code: expected.code })
    expect(last_error?.message).toMatch(expected.message)
    expect(last_error?.hint).toMatch(expected.hint)
    for (const sentence of [last_error?.message, last_error?.hint]) expect(sentence).not.toMatch(/\n|\.$/)
    const [summary, action] = [last_error?.message, last_error?.hint]
    expect(health).toEqual({ level: 'unhealthy', state: expect.any(String), works: false, summary, action })
    expect(started.json()).toMatchObject({ last_error, detail: `'it': ${last_error?.message}` })
  },
)

test('a running server that writes text to stdout is degraded, and its lines are in the log', async () => {
  const service = await openTestService()
  await add(service, definition('noisy'))
  const started = await post(service, '/api/servers/noisy/start')
  expect(started.json()).toMatchObject({
    status: 'running',
    health: {
      level: 'degraded',
      summary: expect.stringMatching(/^Running, but it wrote \d+ lines to stdout that are not MCP messages$/),
      action: 'Make it log to stderr. The lines are in its log',
    },
  })
  const logs = (query: string) => service.inject(`/api/logs?server_id=noisy&${query}`)
  const messages = async (query: string) =>
    (await logs(query)).json().items.map(({ message }: { message: string }) => message)
  expect(await messages('stream=stdout')).toContain('Server listening, have a nice day!')
  expect(await messages('stream=stderr&level=error')).toEqual([
    '{"level":"error","msg":"a line of JSON"}',
    '[error] noisy speaks at level error',
  ])
})

test('log notifications of a server are in the log, with their level', async () => {
  const service = await openTestService()
  await add(service, definition('teller'))
  await post(service, '/api/servers/teller/start')
  await post(service, '/api/servers/teller/tools/tell/call', {})
  const { items } = (await service.inject('/api/logs?stream=mcp&order=asc')).json()
  expect(items).toMatchObject([
    { level: 'warn', message: '[warning] db: the cache is cold', server_id: 'teller', source: 'server' },
    { level: 'fatal', message: '[emergency] {"code":7}' },
  ])
})

test('an on-demand server that failed for a cause that stays is asleep again after its definition or its secret was changed', async () => {
  const service = await openTestService()
  const call = () => post(service, '/api/servers/it/tools/echo/call', { arguments: { text: 'hi' } })
  await add(service, { ...definition('noenv'), name: 'it', start_mode: 'on_demand' })
  expect((await call()).json()).toMatchObject({ last_error: { code: 'missing_setting' } })
  expect((await call()).json()).toMatchObject({ code: 'server_not_running' })
  const change = (env: object) =>
    service.inject({ method: 'PATCH', url: '/api/servers/it', headers: AUTHORISED, payload: { env } })
  await change({ API_KEY: `\${secret:key}` })
  expect(await get(service, 'it')).toMatchObject({ status: 'idle', last_try: null })
  expect((await call()).json()).toMatchObject({ last_error: { code: 'missing_setting' } })
  expect(await get(service, 'it')).toMatchObject({ status: 'failed' })
  const payload = { value: 'a-long-secret-value' }
  await service.inject({ method: 'PUT', url: '/api/secrets/key', headers: AUTHORISED, payload })
  expect(await get(service, 'it')).toMatchObject({ status: 'idle' })
  expect((await call()).statusCode).toBe(200)
})

test('folders of a PATH or HOME that only the server has are in no message: a value of env may be a secret', async () => {
  const service = await openTestService()
  await service.inject({
    method: 'PUT',
    url: '/api/secrets/FOLDERS',
    headers: AUTHORISED,
    payload: { value: '/opt/canary-one:/opt/canary-two' },
  })
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
  const env = { PATH: '${secret:FOLDERS}', HOME: '/opt/canary-home' }
  await add(service, { name: 'searched', command: 'no-such-program', env })
  await add(service, { name: 'placed', command: '~/no-such-program', env })
  const shown = async () => JSON.stringify((await service.inject('/api/servers')).json())
  await expect.poll(shown).toContain("'no-such-program' was not found in any of these folders: ***, ***, ")
  for (const id of ['searched', 'placed']) await post(service, `/api/servers/${id}/start`)
  expect(await shown()).not.toContain('canary')
})
