import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'

const FULL = process.env.TOOLROOM_GOALS === 'full'
const SLEEPERS = 20
const LISTENERS = FULL ? 200 : 50
const CALLS = FULL ? 20_000 : 3000

const residentMb = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

async function listen(address: string) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  const counts = { frames: 0, gaps: 0, calls: 0 }
  let onSnapshot = () => {}
  const ready = new Promise<void>((resolve) => {
    onSnapshot = resolve
  })
  socket.on('message', (data) => {
    const { type, seq } = JSON.parse(String(data))
    counts.frames += 1
    if (seq !== counts.frames) counts.gaps += 1
    if (type === 'call_completed') counts.calls += 1
    if (type === 'snapshot') onSnapshot()
  })
  socket.on('error', () => {}) // the close event follows
  await ready
  return { socket, counts, closed: once(socket, 'close') }
}

describe.runIf(process.platform === 'linux')('clients of the live stream', () => {
  test(`${SLEEPERS} live-stream clients that never read use little memory and are disconnected, and a client that reads loses nothing`, {
    timeout: 300_000,
  }, async () => {
    const { address, child, add, start, ask } = await openService()
    await add(definition('flood', ['--rate=4000', '--seconds=6', '--size=300']))
    await add(definition('echo'))
    await start('echo')
    const good = await listen(address)
    const sleepers = await Promise.all(Array.from({ length: SLEEPERS }, () => listen(address)))
    for (const { socket } of sleepers) socket.send('{"type":"subscribe","topics":["log"]}')
    const storm = async () => {
      await ask('POST', '/servers/flood/restart')
      for (let made = 0; made < CALLS; made += 50)
        await Promise.all(Array.from({ length: 50 }, () => ask('POST', '/servers/echo/tools/pid/call', {})))
      await sleep(3000)
    }
    // All clients read: the baseline without slow clients. The first time, V8's heap grows to its working size.
    await storm()
    await storm()
    const before = residentMb(child.pid)
    const asleepAt = performance.now()
    for (const { socket } of sleepers) socket.pause()
    await storm()
    const grownMb = residentMb(child.pid) - before
    expect(grownMb).toBeLessThan(40)
    await sleep(Math.max(0, 36_000 - (performance.now() - asleepAt)))
    for (const { socket } of sleepers) socket.resume()
    const end = async (closed: Promise<unknown[]>) =>
      (await Promise.race([closed, sleep(5000, ['still there'])]))[0]
    const codes = await Promise.all(sleepers.map(({ closed }) => end(closed)))
    expect(codes.filter((code) => code !== 1013 && code !== 1006)).toEqual([])
    expect(good.counts).toMatchObject({ gaps: 0, calls: 3 * CALLS })
    expect(good.socket.readyState).toBe(WebSocket.OPEN)
    console.log(`memory ${grownMb.toFixed(1)} MB, ended with ${[...new Set(codes)].join(' and ')}`)
  })

  test(`${LISTENERS} live-stream clients that read get every message`, { timeout: 120_000 }, async () => {
    const { address, add, start, ask } = await openService()
    await add(definition('echo'))
    await start('echo')
    const listeners = await Promise.all(Array.from({ length: LISTENERS }, () => listen(address)))
    for (let n = 0; n < 100; n += 1) await ask('POST', '/servers/echo/tools/pid/call', {})
    const allReceived = () => listeners.every(({ counts }) => counts.calls === 100 && counts.gaps === 0)
    for (let n = 0; n < 200 && !allReceived(); n += 1) await sleep(25)
    expect(listeners.filter(({ counts }) => counts.calls !== 100 || counts.gaps > 0)).toEqual([])
  })
})
