import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { stopwatch } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'
import { AUTHORISED } from '../support/test-service.ts'

const FILES = 128
const SOCKETS = 200
const HEALED_MS = 5000

test.runIf(process.platform === 'linux')(
  `R14: with all ${FILES} file handles in use nothing exits, a start gets 503, and everything works again within 5 s after`,
  async () => {
    const { address, child, output, add, start, list } = await openService({ files: FILES })
    await add(definition('echo'))
    await add(definition('echo', [], { name: 'second' }))
    const { pid } = await start('echo')
    const ask = overOneConnection(address)
    expect((await ask('GET', '/health')).status).toBe(200)

    const { sockets, closed } = await openUntilNone(address, child.pid)
    expect(openFiles(child.pid)).toBeGreaterThanOrEqual(FILES)
    expect(closed(), 'connections without a file handle are accepted and closed immediately').toBeGreaterThan(
      0,
    )

    // Existing connections are served; a running server needs no new file handle.
    expect(await ask('GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await ask('GET', '/logs?limit=1')).toMatchObject({ status: 200 })
    expect(await ask('POST', '/servers/echo/tools/echo/call', { arguments: { text: 'still here' } })).toEqual(
      {
        status: 200,
        body: { content: [{ type: 'text', text: 'still here' }] },
      },
    )
    for (let again = 0; again < 3; again += 1) {
      expect(await ask('POST', '/servers/second/start')).toMatchObject({
        status: 503,
        body: { code: 'out_of_resources', last_error: { code: 'out_of_resources' } },
      })
    }
    expect(await ask('GET', '/servers/second')).toMatchObject({
      body: { status: 'backoff', desired_state: 'running' },
    })
    // A change is stored and acknowledged.
    expect(await ask('PATCH', '/servers/second', { description: 'changed' })).toMatchObject({ status: 200 })

    for (const socket of sockets) socket.destroy()
    const spent = stopwatch(child.pid)
    await untilStarted(() => ask('POST', '/servers/second/start'))
    figure('R14', 'first start after the file handles were released, ms', spent(), { most: HEALED_MS })
    expect((await fetch(`${address}/api/health`)).status).toBe(200)
    expect(await list()).toMatchObject([
      { id: 'echo', status: 'running', pid, restart_count: 0 },
      { id: 'second', status: 'running', description: 'changed' },
    ])
    expect(child.exitCode).toBeNull()
    expect(output.stderr).toBe('')
  },
)

/** Opens silent connections until the service cannot accept another. */
async function openUntilNone(address: string, pid: number | undefined) {
  let closed = 0
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let n = 0; n < SOCKETS; n += 1) {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(address).port) })
    socket.on('error', () => {}).on('close', () => (closed += 1))
    sockets.push(socket)
  }
  for (const end = performance.now() + 20_000; performance.now() < end; await sleep(50))
    if (openFiles(pid) >= FILES && closed > 0) break
  return { sockets, closed: () => closed }
}

const openFiles = (pid: number | undefined): number => readdirSync(`/proc/${pid}/fd`).length

/** Uses one connection that was opened at the beginning, because no other can be opened later. */
function overOneConnection(address: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return (method: string, path: string, body?: object) =>
    new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
      const text = body && JSON.stringify(body)
      const about = text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      const asked = request(`${address}/api${path}`, { method, agent, headers: { ...AUTHORISED, ...about } })
      asked.on('error', reject).on('response', (reply) => {
        let answer = ''
        reply.setEncoding('utf8').on('data', (part: string) => (answer += part))
        reply.on('end', () => resolve({ status: reply.statusCode, body: JSON.parse(answer) }))
      })
      asked.end(text)
    })
}

async function untilStarted(
  start: () => Promise<{ status: number | undefined; body: unknown }>,
): Promise<void> {
  for (const end = performance.now() + 6 * HEALED_MS; ; await sleep(50)) {
    const { status, body } = await start()
    if (status === 200) return
    if (performance.now() > end) expect.unreachable(`it stayed ${status} ${JSON.stringify(body)}`)
  }
}
