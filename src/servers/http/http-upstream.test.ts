import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'
import type { HttpServerView } from './http-servers.schema.ts'

const EVERYTHING = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

/** The reference server on a free port. */
async function startEverything(mode: 'streamableHttp' | 'sse'): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [EVERYTHING, mode], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  for (const end = performance.now() + 60_000; performance.now() < end; ) {
    const listening = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (listening) break
    await sleep(25)
  }
  return `http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A server with a custom request handler. */
async function openServer(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

/** A minimal proxy. */
function forward(to: string, request: IncomingMessage, response: ServerResponse): void {
  const { host: _, ...headers } = request.headers
  const forwarded = requestTo(to, { method: request.method, headers }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers)
    reply.pipe(response)
    reply.on('error', () => response.destroy())
  })
  forwarded.on('error', () => response.destroy())
  response.on('close', () => forwarded.destroy())
  request.pipe(forwarded)
}

const register = async (service: TestService, url: string, more: object = {}) => {
  const reply = await add(service, { name: 'far', url, ...more }, '/api/http-servers')
  expect(reply.statusCode, reply.body).toBe(201)
  return reply.json<HttpServerView>()
}
const get = async (service: TestService) =>
  (await service.inject('/api/http-servers/far')).json<HttpServerView>()

describe('HTTP server', () => {
  test.each(['streamableHttp', 'sse'] as const)(
    'the reference server over %s is tested, listed and called',
    async (mode) => {
      covers('http-servers-test', 'does-test-connection')
      const service = await openTestService()
      expect(await register(service, await startEverything(mode))).toMatchObject({
        status: 'unknown',
        health: { level: 'unknown', state: 'not_tried', works: null },
        enabled: true,
        tool_count: null,
      })
      expect((await service.inject('/api/http-servers/far/tools')).json()).toMatchObject({ status: 409 })
      const report = await post(service, '/api/http-servers/far/test')
      expect(report.statusCode).toBe(200)
      expect(report.json()).toMatchObject({
        ok: true,
        transport: mode === 'sse' ? 'sse' : 'streamable_http',
        server_info: { name: expect.any(String) },
        error: null,
      })
      expect(report.json().steps.map((step: { name: string }) => step.name)).toEqual([
        'tcp',
        'http',
        'initialize',
        'tools_list',
      ])
      const url = '/api/http-servers/far/tools/echo/call'
      const call = await post(service, url, { arguments: { message: 'hello' } })
      expect(call.body).toBe('{"content":[{"type":"text","text":"Echo: hello"}]}')
      expect(await get(service)).toMatchObject({
        status: 'connected',
        latency_ms: expect.any(Number),
        last_error: null,
      })
      const tools = (await service.inject('/api/http-servers/far/tools')).json()
      expect(tools).toMatchObject({ source: 'live', total: expect.any(Number) })
      expect(tools.total).toBeGreaterThan(5)
      expect((await post(service, '/api/http-servers/far/tools/nothing/call', {})).statusCode).toBe(404)
    },
  )

  test.each<[string, number, object, string, string]>([
    [
      'requires authentication',
      401,
      { 'www-authenticate': 'Bearer realm="x"' },
      'auth_required',
      'auth_required',
    ],
    ['does not exist at the path', 404, {}, 'not_found', 'error'],
    ['is overloaded', 429, { 'retry-after': '120' }, 'rate_limited', 'unreachable'],
    ['fails', 500, {}, 'http_error', 'error'],
  ])(
    'a server that %s has a test report and a status with the error',
    async (_, status, headers, code, shown) => {
      const service = await openTestService()
      await register(
        service,
        await openServer((_request, response) => void response.writeHead(status, headers as never).end()),
      )
      const report = await post(service, '/api/http-servers/far/test')
      expect(report.statusCode).toBe(200)
      expect(report.json()).toMatchObject({
        ok: false,
        error: { code, message: expect.any(String), hint: expect.any(String) },
      })
      const server = await get(service)
      expect(server).toMatchObject({ status: shown, last_error: { code }, health: { level: 'unhealthy' } })
      expect(server.health.summary).toBe(server.last_error?.message)
      const call = await post(service, '/api/http-servers/far/tools/x/call', {})
      const needsLogin = { status: 409, code: 'login_needed', start_url: expect.any(String) }
      expect(call.json()).toMatchObject(status === 401 ? needsLogin : { status: 502, code: 'call_failed' })
    },
  )

  test('the test of a server that does not listen reports connection_refused, and a call fails', async () => {
    const service = await openTestService()
    await register(service, `http://127.0.0.1:${await freePort()}/mcp`)
    expect((await post(service, '/api/http-servers/far/test')).json()).toMatchObject({
      ok: false,
      steps: [{ name: 'tcp', ok: false }],
      error: { code: 'connection_refused' },
    })
    expect((await post(service, '/api/http-servers/far/tools/x/call', {})).json()).toMatchObject({
      status: 502,
    })
  })

  test('a disabled server cannot be called, but can be tested', async () => {
    const service = await openTestService()
    await register(service, await startEverything('streamableHttp'), { enabled: false })
    expect(await get(service)).toMatchObject({ status: 'disabled', health: { summary: 'Disabled' } })
    expect((await post(service, '/api/http-servers/far/test')).json()).toMatchObject({ ok: true })
    expect((await post(service, '/api/http-servers/far/tools/echo/call', {})).json()).toMatchObject({
      status: 409,
      detail: "'far' is disabled",
    })
    expect(await get(service)).toMatchObject({ status: 'disabled' })
  })

  test('regular checks show a server as connected, degraded, unreachable and connected again', async () => {
    let available = true
    const service = await openTestService({ env: { HTTP_CHECK_INTERVAL_S: '1' } })
    const real = await startEverything('streamableHttp')
    const seen: string[] = []
    const url = await openServer((request, response) => {
      if (available) forward(real, request, response)
      else response.writeHead(503).end()
    })
    await register(service, url)
    const until = async (status: string) => {
      for (const end = performance.now() + 60_000; performance.now() < end; ) {
        const server = await get(service)
        if (seen.at(-1) !== server.status) seen.push(server.status)
        if (server.status === status) return server
        await sleep(25)
      }
      return expect.unreachable(`it was ${seen.join(', ')} and never ${status}`)
    }
    await until('connected')
    available = false
    await until('unreachable')
    available = true
    await post(service, '/api/http-servers/far/test')
    const back = await until('connected')
    expect(back.next_check_at).not.toBeNull()
    expect(seen).toEqual(['unknown', 'connected', 'degraded', 'unreachable', 'connected'])
  })

  test('testing and calling a server requires the token, and reading its tools does not', async () => {
    const service = await openTestService()
    await register(service, 'http://127.0.0.1:9/mcp')
    for (const url of ['/api/http-servers/far/test', '/api/http-servers/far/tools/x/call'])
      expect((await service.inject({ method: 'POST', url, payload: {} })).statusCode).toBe(401)
    expect((await service.inject('/api/http-servers/far/tools')).statusCode).toBe(409)
  })

  test('the status and tools of a deleted server are not kept for a new server with its name', async () => {
    const service = await openTestService()
    await register(service, await startEverything('streamableHttp'))
    await post(service, '/api/http-servers/far/tools/echo/call', { arguments: { message: 'x' } })
    await service.inject({ method: 'DELETE', url: '/api/http-servers/far', headers: AUTHORISED })
    expect(await register(service, 'http://127.0.0.1:9/mcp')).toMatchObject({
      status: 'unknown',
      tool_count: null,
    })
  })
})
