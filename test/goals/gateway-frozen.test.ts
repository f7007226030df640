import { describe, expect, onTestFinished, test } from 'vitest'
import { runs } from '../support/full-or-short.ts'
import { Agent, callsStarted, newKey, type Reply, textOf, toolsIn } from '../support/gateway.ts'
import { moment, ownMs, percentile } from '../support/measuring.ts'
import { get, post, register, until } from '../support/running-servers.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

const WAITING = 16
const KIBIBYTE = 1024
const LARGE = 'x'.repeat(256 * KIBIBYTE)
/** More calls than may queue for a server that does not read. */
const TOO_MANY = 80
const CALLS = runs(60, 200)
/** A coarse bound that shows that no call waits for the frozen server; the benchmarks measure precisely. */
const MAX_FACTOR = 5
/** Shorter times depend on the machine, not on the gateway. */
const SMALL_MS = 5
const MAX_ERROR_MS = 1000

describe.runIf(process.platform === 'linux')('a frozen server', () => {
  test(`a frozen server with ${WAITING} large pending calls does not delay another server, and responds when it continues`, async () => {
    const { service, frozen, other } = await openWithServers()
    await medianOf(other) // warm-up
    const before = await medianOf(other)
    const { goOn } = await freeze(service)
    let answered = 0
    const waiting = Array.from({ length: WAITING }, () =>
      frozen.call('frozen__length', { text: LARGE }).finally(() => {
        answered += 1
      }),
    )
    const during = await medianOf(other)
    console.log(
      `median ${before.toFixed(2)} ms before, ${during.toFixed(2)} ms while another server is frozen`,
    )
    expect(answered).toBe(0)
    expect(during).toBeLessThan(Math.max(MAX_FACTOR * before, SMALL_MS))
    goOn()
    const replies = await Promise.all(waiting)
    expect(replies.map(textIn)).toEqual(Array(WAITING).fill(String(LARGE.length)))
  })

  test('calls to a frozen server fail within a second after it is killed', async () => {
    const { service, frozen } = await openWithServers()
    const { pid } = await freeze(service)
    const started = await callsStarted(service)
    const waiting = Array.from({ length: WAITING }, async () => {
      const { answers } = await frozen.call('frozen__length', { text: LARGE })
      return { error: answers[0]?.error, answered: moment() }
    })
    await expect.poll(started).toBe(WAITING)
    process.kill(pid, 'SIGKILL')
    const died = moment()
    for (const { error, answered } of await Promise.all(waiting)) {
      expect(error).toMatchObject({ code: -32603, data: { code: 'call_failed' } })
      expect(ownMs(died, answered)).toBeLessThan(MAX_ERROR_MS)
    }
    expect(textIn(await frozen.call('frozen__say', { text: 'back' }))).toBe('back')
  })

  test('a frozen server has a bounded queue, and further calls fail immediately', async () => {
    const { service, frozen, other } = await openWithServers()
    const { goOn } = await freeze(service)
    const started = await callsStarted(service)
    const calls = Array.from({ length: TOO_MANY }, () => frozen.call('frozen__length', { text: LARGE }))
    await expect.poll(started).toBe(TOO_MANY)
    expect(busyIn(await frozen.call('frozen__say', { text: 'me, too' }))).toBe(true)
    expect(textIn(await other.call('other__say', { text: 'fine' }))).toBe('fine')
    goOn()
    const replies = await Promise.all(calls)
    const answered = replies.filter((reply) => textIn(reply) === String(LARGE.length))
    const refused = replies.filter(busyIn)
    console.log(`${answered.length} of ${TOO_MANY} waited, ${refused.length} were refused`)
    expect(answered.length).toBeGreaterThanOrEqual(WAITING)
    expect(refused.length).toBeGreaterThan(0)
    expect(answered.length + refused.length).toBe(TOO_MANY)
    expect(textIn(await frozen.call('frozen__say', { text: 'thawed' }))).toBe('thawed')
  })
})

test('a server that hangs in its handshake at the start does not delay other servers', async () => {
  const service = await openTestService()
  await register(service, 'later', [], { name: 'other', start_mode: 'eager' })
  await register(service, 'later', [], { name: 'sleeper', start_mode: 'on_demand' })
  for (const id of ['other', 'sleeper']) await post(service, `/api/servers/${id}/start`)
  await register(service, 'slow-handshake', ['--ms=600000'], {
    name: 'stuck',
    start_mode: 'eager',
    timeouts: { start_s: 60, stop_s: 1 },
  })
  const key = await newKey(service)
  await service.close()
  const again = await openTestService({ home: service.home })
  for (const era of ['modern', 'legacy'] as const) {
    const agent = await Agent.open(again, key, era)
    const { answers } = await agent.ask('tools/list')
    expect(toolsIn(answers[0])).toEqual(expect.arrayContaining(['other__say', 'sleeper__say']))
    expect(textIn(await agent.call('other__say', { text: 'here' }))).toBe('here')
    expect(textIn(await agent.call('sleeper__say', { text: 'up' }))).toBe('up')
  }
  expect((await get(again, 'stuck')).status).toBe('starting')
})

/** Two servers, and an agent for each. */
async function openWithServers() {
  const service = await openTestService()
  for (const name of ['frozen', 'other']) {
    await register(service, 'later', [], { name })
    await post(service, `/api/servers/${name}/start`)
  }
  const frozen = await Agent.open(service, await newKey(service), 'modern')
  const other = await Agent.open(service, await newKey(service, 'codex'), 'legacy')
  await frozen.call('frozen__say', { text: 'warm' }) // probes the era once
  return { service, frozen, other }
}

async function freeze(service: TestService) {
  const { pid } = await until(service, 'frozen', ({ status }) => status === 'running')
  if (pid === null) return expect.unreachable('the server has no pid')
  process.kill(pid, 'SIGSTOP')
  const goOn = () => {
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // it was killed in the meantime
    }
  }
  onTestFinished(goOn)
  return { pid, goOn }
}

/** Milliseconds of many sequential calls to the other server. */
async function medianOf(agent: Agent): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < CALLS; n += 1) {
    const reply = await agent.call('other__say', { text: `call ${n}` })
    expect(textIn(reply)).toBe(`call ${n}`)
    times.push(reply.ms)
  }
  return percentile(times, 50)
}

const textIn = ({ answers }: Reply) => textOf(answers[0])

const busyIn = ({ answers }: Reply) =>
  answers[0]?.error?.message.includes('The server does not read its input') === true
