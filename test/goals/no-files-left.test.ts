import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { AUTHORISED } from '../support/house.ts'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

test('explore', async () => {
  const s = await openService({ files: 128 })
  await s.add(definition('echo'))
  await s.add(definition('echo', [], { name: 'second' }))
  const first = await s.start('echo')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (method: string, path: string, body?: object) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const text = body && JSON.stringify(body)
      const r = request(
        `${s.address}/api${path}`,
        {
          method,
          agent,
          headers: {
            ...AUTHORISED,
            ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          },
        },
        (reply) => {
          let t = ''
          reply
            .setEncoding('utf8')
            .on('data', (x: string) => (t += x))
            .on('end', () => resolve({ status: reply.statusCode, body: t }))
        },
      )
      r.on('error', reject)
      r.end(text)
    })
  const fds = () => readdirSync(`/proc/${s.child.pid}/fd`).length
  console.log('fds', fds(), (await ask('GET', '/health')).status)
  const sockets: Socket[] = []
  let closed = 0
  let opened = 0
  for (let n = 0; n < 200; n += 1) {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(s.address).port) })
    socket
      .on('error', (e) => {
        closed += 0
        if (n > 195) console.log(String(e))
      })
      .on('close', () => (closed += 1))
      .on('connect', () => {
        opened += 1
        socket.write('GET /api/health HTTP/1.1\r\nHost: x')
      })
    sockets.push(socket)
  }
  onTestFinished(() => sockets.forEach((x) => x.destroy()))
  for (let i = 0; i < 12; i += 1) {
    await sleep(300)
    console.log('fds', fds(), 'opened', opened, 'closed', closed)
    const t = performance.now()
    const h = await ask('GET', '/health').catch((e) => ({ status: String(e), body: '' }))
    console.log('health', h.status, h.body.slice(0, 600), Math.round(performance.now() - t))
    if (i % 3 === 0) {
      const a = await ask('POST', '/servers/second/start').catch((e) => ({ status: String(e), body: '' }))
      console.log('start', a.status, a.body.slice(0, 700))
      const c = await ask('POST', '/servers/echo/tools/echo/call', { arguments: { text: 'x' } }).catch(
        (e) => ({ status: String(e), body: '' }),
      )
      console.log('call', c.status, c.body.slice(0, 300))
      const v = await ask('GET', '/servers/second')
      console.log(JSON.stringify(JSON.parse(v.body).status), JSON.parse(v.body).last_error)
      const f = await fetch(`${s.address}/api/health`, { signal: AbortSignal.timeout(1000) }).then(
        (x) => x.status,
        (e) => `${e} ${e.cause}`,
      )
      console.log('new connection', f)
      const l = await ask('GET', '/logs?limit=3')
      console.log('logs', l.status)
      const p = await ask('POST', '/servers', { name: `n${i}`, command: 'x' })
      console.log('add', p.status, p.body.slice(0, 300))
    }
  }
  for (const x of sockets) x.destroy()
  const t = performance.now()
  await sleep(50)
  for (;;) {
    const a = await ask('POST', '/servers/second/start').catch((e) => ({ status: String(e), body: '' }))
    console.log('start', a.status, Math.round(performance.now() - t))
    if (a.status === 200) break
    await sleep(200)
  }
  console.log(
    'fds',
    fds(),
    (await s.list()).map((x) => [x.id, x.status, x.pid]),
    first.pid,
    s.output,
  )
  console.log((await ask('GET', '/logs?level=warn&limit=30')).body.slice(0, 4000))
  expect(s.child.exitCode).toBe(null)
}, 60_000)
