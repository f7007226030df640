import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../../../test/fixtures/http/proxy.ts'
import { MAIN } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'
import { textOf, writtenLine } from '../run/printed-line.ts'
import { type Report, statusLines } from './status.ts'

async function status(env: Record<string, string>, ...argv: string[]) {
  const child = spawn(process.execPath, [MAIN, 'status', ...argv], {
    env: { PATH: process.env.PATH, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const [code] = await once(child, 'close')
  return { code, ...output }
}

const at = (service: TestService) => ({ HOME: service.home, TOOLROOM_HOME: service.data })

test('status finds the running service by its data folder and prints one line per server', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  await register(service, 'crash', [], { restart: { policy: 'never' }, start_mode: 'manual' })
  await post(service, '/api/servers/echo/start')
  await post(service, '/api/servers/crash/start')
  await post(service, '/api/http-servers', { name: 'Remote docs', url: 'http://127.0.0.1:9/mcp' })
  const { code, stdout, stderr } = await status(at(service))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [head, ...lines] = stdout.trimEnd().split('\n')
  expect(head).toMatch(new RegExp(`^Toolroom \\d+\\.\\d+\\.\\d+ at ${service.address}, up \\d+ s$`))
  expect(lines.find((line) => line.includes('echo'))).toMatch(/^ {2}echo {9}● running {4}4 tools$/)
  expect(lines[0]).toMatch(/^! 'crash' crashed\. \S/)
  expect(lines.find((line) => line.startsWith('  crash'))).toMatch(
    /^ {2}crash {8}✕ \S+ +- {8}\S.*exited with code \d/i,
  )
  expect(lines.find((line) => line.startsWith('  Remote'))).toMatch(
    /^ {2}Remote docs {2}◇ not tried {2}- {8}try it: toolroom test remote-docs$/,
  )
  expect(stdout).not.toContain('\u001b')

  const json = JSON.parse((await status(at(service), '--json')).stdout)
  expect(json).toMatchObject({ address: service.address, version: expect.any(String), status: 'degraded' })
  const notices = (await service.inject('/api/notices'))
    .json()
    .items.map(({ text }: { text: string }) => text)
  expect(json.warnings).toEqual(notices)
  expect(json.servers.map(({ id }: { id: string }) => id)).toEqual(['echo', 'crash', 'remote-docs'])
})

test('status sends the token if reads are protected, and exits 4 if it is wrong', async () => {
  const service = await openTestService({ env: { PROTECT_READS: 'true', AUTH_TOKEN_HEADER_NAME: 'X-Mine' } })
  const header = { AUTH_TOKEN_HEADER_NAME: 'X-Mine' }
  expect(await status({ ...at(service), ...header, AUTH_TOKEN: TOKEN })).toMatchObject({
    code: 0,
    stderr: '',
  })
  const refused = await status({ ...at(service), ...header, AUTH_TOKEN: 'f'.repeat(64) }, '--json')
  expect(refused).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('requires its token, and refused this one'),
  })
  expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'token_refused' })
})

test('status exits 3 with one line, or one JSON document, if no service is running', async () => {
  const env = { HOME: ownFolder() }
  const sentence = 'toolroom: Toolroom is not running: start it with `toolroom up`\n'
  expect(await status(env)).toEqual({ code: 3, stdout: '', stderr: sentence })
  const { code, stdout } = await status(env, '--json')
  expect({ code, ...JSON.parse(stdout) }).toEqual({
    code: 'not_running',
    detail: 'Toolroom is not running',
    hint: 'start it with `toolroom up`',
  })
  expect(await status(env, '--url', 'http://127.0.0.1:9')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('does not respond at http://127.0.0.1:9'),
  })
})

test('status reaches a Toolroom on another computer through HTTP_PROXY, and loopback without it', async () => {
  const service = await openTestService({ env: { ALLOWED_HOSTS: 'plain.test' } })
  const proxy = await openProxy()
  onTestFinished(() => proxy.close())
  const env = { HOME: ownFolder(), HTTP_PROXY: proxy.origin }
  expect(await status(env, '--url', service.address)).toMatchObject({ code: 0, stderr: '' })
  expect(proxy.requests).toEqual([])
  const url = service.address.replace('127.0.0.1', 'plain.test')
  expect(await status(env, '--url', url)).toMatchObject({ code: 0, stderr: '' })
  expect(proxy.requests.map(({ line }) => line)).toContain(`GET ${url}/api/health`)
  proxy.refuse(502)
  expect(await status(env, '--url', url)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('did not forward the request to plain.test'),
  })
})

test('status detects another program at the address and does not send it the token', async () => {
  const tokens: unknown[] = []
  const server = createServer((request, response) => {
    tokens.push(request.headers['x-svc-token'])
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"hello":1}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answer = await status({ HOME: ownFolder(), AUTH_TOKEN: TOKEN }, '--url', url)
  expect(answer).toMatchObject({ code: 3, stderr: expect.stringContaining('is not Toolroom') })
  expect(tokens).toEqual([undefined])
})

test.runIf(process.platform === 'linux')(
  'status sends nothing to the address that a killed service left behind, although its pid and its port are in use again',
  async () => {
    const requests: unknown[] = []
    const server = createServer((request, response) => {
      requests.push(request.url)
      response.writeHead(401).end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const folder = ownFolder()
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    writeFileSync(join(folder, 'lock.db'), '')
    writeFileSync(join(folder, 'instance.json'), JSON.stringify({ pid: process.pid, address }))
    const answer = await status({ HOME: folder, TOOLROOM_HOME: folder, AUTH_TOKEN: TOKEN })
    expect(answer).toMatchObject({ code: 3, stderr: expect.stringContaining('Toolroom is not running') })
    expect(requests).toEqual([])
  },
)

test.each([
  [['--help'], 0, /^Usage: toolroom status$/m],
  [['--jsn'], 2, /^$/],
])('status %j exits %i', async (argv, code, stdout) => {
  const answer = await status({ HOME: ownFolder() }, ...argv)
  expect(answer.code).toBe(code)
  expect(answer.stdout).toMatch(stdout)
})

const report = (...servers: Report['servers']): Report => ({
  address: 'http://127.0.0.1:8665',
  version: '1.0.0',
  uptime_s: 7500,
  checks: [{ name: 'disk', ok: false, detail: 'The disk is full' }],
  warnings: ['AUTH_TOKEN is weak'],
  servers,
})
const server = (
  id: string,
  status: 'idle' | 'failed',
  level: Report['servers'][number]['health']['level'],
  summary: string,
  action: string | null = null,
) => ({
  id,
  type: 'stdio' as const,
  name: id,
  status,
  tool_count: level === 'healthy' ? 1 : null,
  health: { level, state: status, works: level === 'healthy', summary, action },
})
const written = (given: Report, width: number | undefined, isColoured: boolean) =>
  statusLines(given, width).map((line) => writtenLine(line, { width, isColoured, isAscii: false }).trimEnd())

test('columns are aligned, errors come last with their hint, and control characters of a server are removed', () => {
  const given = report(
    server('a', 'idle', 'healthy', 'Asleep'),
    server('longer', 'failed', 'unhealthy', 'It\u001b[2Jfell\nover', 'Set TOKEN'),
  )
  expect(written(given, undefined, false)).toEqual([
    'Toolroom 1.0.0 at http://127.0.0.1:8665, up 2 h 5 min',
    '! disk: The disk is full',
    '! AUTH_TOKEN is weak',
    '  a       ◌ idle    1 tool',
    '  longer  ✕ failed  -       It [2Jfell over. Set TOKEN: toolroom logs longer',
  ])
})

test('a terminal gets colours, and no line is wider than the terminal', () => {
  const lines = written(report(server('a', 'failed', 'unhealthy', 'x'.repeat(200))), 40, true)
  const plain = lines.map(stripVTControlCharacters)
  expect(Math.max(...plain.slice(1).map((line) => line.length))).toBeLessThanOrEqual(40)
  expect(lines.at(-1)).toContain('\u001b[31m✕ failed\u001b[0m')
  expect(plain.at(-1)).toMatch(/^ {2}a {2}✕ failed {2}- {2}x+…$/)
})

test('a line with a command is as wide as it is when the command begins as on this computer', () => {
  const typed = (text: string) => text.replace('toolroom test', 'node dist/main.js test')
  const untried = { ...server('server-of-a-long-name', 'idle', 'unknown', 'Not tried yet') }
  const health = { ...untried.health, state: 'not_tried' as const }
  const [, , , line = ''] = statusLines(report({ ...untried, health }), 80, typed)
  const shown = typeof line === 'string' ? line : line.map(textOf).join('')
  expect(shown).toMatch(/node dist\/main\.js test serv\S*…$/)
  expect(shown.length).toBeLessThanOrEqual(80)
})
