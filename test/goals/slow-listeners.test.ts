import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { figure } from '../support/figure.ts'
import { runs } from '../support/full-or-short.ts'
import { heldMemory, MEASURED } from '../support/held-memory.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

const SLEEPERS = 20
const LISTENERS = runs(30, 200)
const CALLS = runs(150, 2000, 20_000)
/** Lines of 1 KB a second, for 4 s. What 20 clients do not read of them is more than the growth three times over. */
const LINES_PER_S = runs(1500, 4000)
/** While all clients read, for a shorter time: what is in use then does not depend on it. */
const READ_S = runs(1, 4)
const MAX_GROWTH_MB = 40
/** Longer than the 30 s after which a client that does not read is disconnected, whatever it was sent. */
const ASLEEP_MS = 36_000

async function listen(address: string) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  const counts = { frames: 0, gaps: 0, calls: 0 }
  let onSnapshot = () => {}
  const ready = new Promise<void>((resolve) => {
    onSnapshot = resolve
  })
  socket.on('message', (data) => {
    const { type, seq, data: fact } = JSON.parse(String(data))
    counts.frames += 1
    if (seq !== counts.frames) counts.gaps += 1
    if (type === 'call_completed' && fact.tool === 'pid') counts.calls += 1
    if (type === 'snapshot') onSnapshot()
  })
  socket.on('error', () => {}) // the close event follows
  await ready
  return { socket, counts, closed: once(socket, 'close') }
}

describe.runIf(process.platform === 'linux')('clients of the live stream', () => {
  const opened = sharedByTests(async () => {
    const service = await openService({ env: MEASURED })
    await service.add(definition('echo'))
    await service.start('echo')
    return service
  })

  test(`R12: ${SLEEPERS} live-stream clients that never read use little memory and are disconnected, and a client that reads loses nothing`, {
    timeout: 900_000,
  }, async () => {
    const service = await opened()
    const { address, add, ask } = service
    for (const [name, seconds] of [['read', READ_S] as const, ['unread', 4] as const]) {
      const args = [`--rate=${LINES_PER_S}`, `--seconds=${seconds}`, '--size=1000']
      await add(definition('flood', args, { name }))
    }
    const good = await listen(address)
    const sleepers = await Promise.all(Array.from({ length: SLEEPERS }, () => listen(address)))
    for (const { socket } of sleepers) {
      socket.removeAllListeners('message') // what they receive is not counted
      socket.send('{"type":"subscribe","topics":["log"]}')
    }
    /** Returns the most memory that was in use at any time. */
    const storm = async (name: string): Promise<number> => {
      await ask('POST', `/servers/${name}/restart`)
      let mostMb = 0
      for (let made = 0; made < CALLS; made += 50) {
        await Promise.all(Array.from({ length: 50 }, () => ask('POST', '/servers/echo/tools/pid/call', {})))
        if (made % runs(100, 250) === 0) mostMb = Math.max(mostMb, (await heldMemory(service)).heldMb)
      }
      const written = async () =>
        (await ask('POST', `/servers/${name}/tools/sent/call`, {})).body.content[0].text
      await expect.poll(written, { timeout: 60_000, interval: 200 }).toMatch(/^(\d+) of \1$/)
      return Math.max(mostMb, (await heldMemory(service)).heldMb)
    }
    await storm('read') // warm-up: compiled code and full caches
    const before = await storm('read')
    const asleepAt = performance.now()
    for (const { socket } of sleepers) socket.pause()
    figure('R12', `growth with ${SLEEPERS} clients that never read, MB`, (await storm('unread')) - before, {
      most: MAX_GROWTH_MB,
    })
    await sleep(Math.max(0, ASLEEP_MS - (performance.now() - asleepAt)))
    for (const { socket } of sleepers) socket.resume()
    const end = async (closed: Promise<unknown[]>) =>
      (await Promise.race([closed, sleep(30_000, ['still there'])]))[0]
    const codes = await Promise.all(sleepers.map(({ closed }) => end(closed)))
    const left = codes.filter((code) => code !== 1013 && code !== 1006)
    figure('R12', 'clients that never read and stayed connected', left.length, { exactly: 0 })
    await expect.poll(() => good.counts.calls, { timeout: 30_000 }).toBe(3 * CALLS)
    figure('R12', 'messages that a client that reads missed', good.counts.gaps, { exactly: 0 })
    expect(good.socket.readyState).toBe(WebSocket.OPEN)
  })

  test(`R12: ${LISTENERS} live-stream clients that read get every message`, {
    timeout: 300_000,
  }, async () => {
    const { address, ask } = await opened()
    const listeners = await Promise.all(Array.from({ length: LISTENERS }, () => listen(address)))
    for (let n = 0; n < 100; n += 1) await ask('POST', '/servers/echo/tools/pid/call', {})
    const allReceived = () => listeners.every(({ counts }) => counts.calls === 100 && counts.gaps === 0)
    for (const end = performance.now() + 60_000; performance.now() < end && !allReceived(); ) await sleep(25)
    expect(listeners.filter(({ counts }) => counts.calls !== 100 || counts.gaps > 0)).toEqual([])
  })
})
