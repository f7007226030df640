import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { LogLine } from '../../src/observe/logs/logs.schema.ts'
import { figure } from '../support/figure.ts'
import { FULL, runs, some } from '../support/full-or-short.ts'
import { heldMemory, MEASURED, STEPS_MEASURED } from '../support/held-memory.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { forgetPeak, memoryOf, percentile, sampling } from '../support/measuring.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

type Service = Awaited<ReturnType<typeof openService>>

const MB = 1_000_000

interface Figure {
  readonly what: string
  readonly is: number
  readonly most: number
}

/** Runs rounds with a new service each. Every one of them must stay within its limits. */
async function inRounds(
  goal: 'R9' | 'R10',
  title: string,
  rounds: number,
  round: (service: Service) => Promise<Figure[]>,
): Promise<void> {
  for (let n = 0; n < rounds; n += 1) {
    const service = await openService({ env: { LOG_MAX_MB: '2048', ...MEASURED } })
    const figures = await round(service)
    service.child.kill('SIGTERM')
    await service.ended
    for (const { what, is, most } of figures) figure(goal, `${title}: ${what}`, is, { most })
  }
}

describe.runIf(process.platform === 'linux')('hostile output', () => {
  const WARM_MS = 1500
  const WINDOW_MS = 2000
  const MAX_GROWTH_MB = 64
  /** A string needs two bytes for each, and a line of them an object: kept in memory, both sizes exceed their growth. */
  const RANDOM_MB = runs(5, 50)
  const MAX_RANDOM_GROWTH_MB = runs(12, MAX_GROWTH_MB)
  const MAX_LAG_MS = 200
  const MAX_LATER_MS = 20
  const MAX_LONGER_MS = 50
  const WARM_CALLS = 100
  const CALLS = 20
  /** A third of it is usual, also on a busy machine. */
  const MAX_STEP_MS = 50
  const hostileAs = (name: string) => ({ name, timeouts: { start_s: 600, stop_s: 1 } })

  /** The fixture and its arguments, the health that it gets, and its megabytes with the CPU time that each may take. */
  const CASES = [
    ['a line of 100 MB on stdout', 'bigline', ['--mb=100'], 'degraded', 100, 15],
    ['a line of 100 MB on stderr', 'bigline', ['--mb=100', '--stream=stderr'], 'healthy', 100, 15],
    [
      `${RANDOM_MB} MB of random bytes on stdout`,
      'garbage',
      [`--kb=${RANDOM_MB}000`],
      'degraded',
      RANDOM_MB,
      700,
    ],
    [
      '20 MB of carriage returns without a newline on stdout',
      'garbage',
      ['--kb=20000', '--cr'],
      'degraded',
      20,
      45,
    ],
  ] as const

  /** One for all of them: the cost of each is counted from its start, and what is in use before that does not count. */
  const measured = sharedByTests(async () => {
    const service = await openService({ env: { LOG_MAX_MB: '2048', ...STEPS_MEASURED } })
    await startEcho(service)
    for (let n = 0; n < WARM_CALLS; n += 1) await expectCall(service)
    return service
  })

  test.each(CASES)(
    'R9: a server that writes %s uses bounded memory and time, and its tools can be called; a line is logged with its first 64 KiB and the number of missing bytes',
    { timeout: 900_000 },
    async (title, kind, args, level, sizeMb, mostMsPerMb) => {
      const service = await measured()
      const id = `hostile-${CASES.findIndex(([each]) => each === title)}`
      await service.add(definition(kind, args, hostileAs(id)))
      const calls = async () => {
        for (let n = 0; n < CALLS; n += 1) await expectCall(service).then(() => sleep(20))
      }
      const { grownMb, workMs, longestStepMs } = await costOf(service, () =>
        Promise.all([startHostile(service, id), calls()]),
      )
      await expectToWork(service, id, level)
      if (kind === 'bigline') await expectCut(service, id, title.includes('stderr') ? 'stderr' : 'stdout')
      const mostMb = title.includes('random') ? MAX_RANDOM_GROWTH_MB : MAX_GROWTH_MB
      figure('R9', `${title}: growth of what is in use, MB`, grownMb, { most: mostMb })
      figure('R9', `${title}: CPU time for each MB, ms`, workMs / sizeMb, { most: mostMsPerMb })
      figure('R9', `${title}: CPU time of the longest step, ms`, longestStepMs, { most: MAX_STEP_MS })
    },
  )

  /** In milliseconds of a quiet machine. */
  test.runIf(FULL).each(CASES)(
    'R9: a server that writes %s delays no call of another server',
    { timeout: 900_000 },
    (title, kind, args, level) =>
      inRounds('R9', title, 4, async (service) => {
        await startEcho(service)
        await service.add(definition(kind, args, hostileAs('hostile')))
        await observe(service, sleep(WARM_MS)) // warm-up: compiled code, and the memory that calls take
        const before = await observe(service, sleep(WINDOW_MS))
        const { nowMb } = memoryOf(service)
        forgetPeak(service)
        // As long as before: the start alone takes a dozen calls, and the p99 of those is their longest.
        const during = await observe(
          service,
          Promise.all([startHostile(service, 'hostile'), sleep(WINDOW_MS)]),
        )
        const grownMb = memoryOf(service).peakMb - nowMb
        await expectToWork(service, 'hostile', level)
        const usual = percentile(before.calls, 99)
        const lag = Math.max(...during.health) - percentile(before.health, 50)
        return [
          { what: 'growth, MB', is: grownMb, most: MAX_GROWTH_MB },
          { what: 'lag, ms', is: lag, most: MAX_LAG_MS },
          {
            what: "p99 of another server's calls, ms",
            is: percentile(during.calls, 99),
            most: Math.max(1.2 * usual, usual + MAX_LATER_MS),
          },
          {
            what: "longest of another server's calls, ms",
            is: Math.max(...during.calls),
            most: usual + MAX_LONGER_MS,
          },
        ]
      }),
  )

  /** Another server than the hostile one. */
  async function startEcho(service: Service): Promise<void> {
    await service.add(definition('echo'))
    await service.start('echo')
  }

  async function expectCall(service: Service): Promise<void> {
    expect((await callEcho(service)).status).toBe(200)
  }

  /** It runs once it has written all of its output, however long the machine needs for that. Few questions, as they cost. */
  async function startHostile(service: Service, id: string): Promise<void> {
    await service.ask('POST', `/servers/${id}/start`)
    const status = async () => (await service.ask('GET', `/servers/${id}`)).body.status
    await expect.poll(status, { timeout: 600_000, interval: 500 }).toBe('running')
  }

  async function expectToWork(service: Service, id: string, level: string): Promise<void> {
    const { body } = await service.ask('GET', `/servers/${id}`)
    expect(body).toMatchObject({ status: 'running', health: { level }, restart_count: 0 })
    if (level === 'degraded') expect(body.health.summary).toContain('to stdout that')
    const call = await service.ask('POST', `/servers/${id}/tools/echo/call`, { arguments: { text: 'hi' } })
    expect(call).toMatchObject({ status: 200, body: { content: [{ text: 'hi' }] } })
  }

  async function expectCut(service: Service, id: string, stream: string): Promise<void> {
    const [line] = (await service.ask('GET', `/logs?server_id=${id}&source=server`)).body.items as LogLine[]
    expect(line).toMatchObject({ stream, truncated: true, repeat: 1 })
    const [, kept = '', cut] = /^(x+) … \((\d+) bytes cut\)$/.exec(line?.message ?? '') ?? []
    expect(Buffer.byteLength(line?.message ?? '')).toBeLessThanOrEqual(64 * 1024)
    expect(kept.length).toBeGreaterThan(65_000)
    expect(kept.length + Number(cut)).toBe(100 * MB)
  }

  test('R9: an incomplete UTF-8 character at the end of a line or stream loses only that character', async () => {
    const service = await measured()
    await service.add(definition('garbage', ['--kb=0', '--half']))
    const running = await service.start('garbage')
    expect(running.health).toMatchObject({ level: 'degraded' })
    const call = await service.ask('POST', '/servers/garbage/tools/echo/call', { arguments: { text: '🎈' } })
    expect(call.body).toEqual({ content: [{ type: 'text', text: '🎈' }] })
    await service.ask('POST', '/servers/garbage/stop')
    const { items } = (await service.ask('GET', '/logs?server_id=garbage&source=server&order=asc')).body
    const logged = (items as LogLine[]).map(({ stream, message }) => [stream, message])
    expect(logged).toHaveLength(3)
    expect(logged[0]).toEqual(['stdout', '\uFFFD'])
    expect(logged).toContainEqual(['stdout', 'last words \uFFFD'])
    expect(logged).toContainEqual(['stderr', 'last words \uFFFD'])
  })
})

describe.runIf(process.platform === 'linux')('a flood of lines', () => {
  const MAX_MS = 100
  /** A few seconds give a hundred responses, the slowest of which depends on the disk more than on the service. */
  const PERCENT = FULL ? 99 : 90
  const KINDS = [
    ['numbered', runs(2, 10, 60)], // lines above the rate are reported once a second
    ['same', runs(1, 5, 20)],
    ['mixed', runs(1, 10, 60)],
  ] as const

  test.each(some(KINDS, 2))(
    'R10: of 50,000 %s lines a second for %i s every line is stored, folded or counted as dropped, and other requests are served',
    {
      timeout: 900_000,
    },
    (kind, seconds) =>
      inRounds('R10', `${kind} lines`, 1, async (service) => {
        await service.add(definition('flood', ['--rate=50000', `--seconds=${seconds}`, `--kind=${kind}`]))
        await watch(service, sleep(500))
        const { logs, health } = await watch(service, pour(service))
        expectExact(await books(service), kind, 50_000 * seconds)
        return [
          { what: `p${PERCENT} of /api/logs, ms`, is: percentile(logs, PERCENT), most: MAX_MS },
          { what: `p${PERCENT} of /api/health, ms`, is: percentile(health, PERCENT), most: MAX_MS },
        ]
      }),
  )

  type Books = Awaited<ReturnType<typeof books>>

  function expectExact({ sent, stored, folded, dropped, notices }: Books, kind: string, total: number): void {
    expect(sent).toBe(total)
    figure('R10', `${kind} lines: stored, folded and dropped`, stored.length + folded + dropped, {
      exactly: sent,
    })
    const reported = notices.map(({ message }) => Number(/^(\d+) lines were dropped/.exec(message)?.[1]))
    expect(reported.reduce((sum, lines) => sum + lines, 0)).toBe(dropped)
    const times = notices.map(({ ts }) => Date.parse(ts))
    for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThan(950)

    // Every stored line was sent, in this order, and none is stored more often than it was sent.
    const numbers = stored.map(({ message }) => Number(/^\[info\] flood (\d+) \.+$/.exec(message)?.[1]))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    const shown = new Map<number, number>()
    for (const [index, number] of numbers.entries())
      shown.set(number, (shown.get(number) ?? 0) + (stored[index]?.repeat ?? 0))
    const sentTimes = (number: number) =>
      kind === 'numbered' ? 1 : kind === 'same' ? sent : (number % 7) + 1
    expect([...shown].filter(([number, times]) => !(times <= sentTimes(number)))).toEqual([])
    if (kind === 'same') expect([dropped, folded]).toEqual([0, sent - stored.length])
  }

  /** Settles when the server has written everything. */
  async function pour(service: Service): Promise<void> {
    await service.start('flood')
    for (;;) {
      const [sent, total] = await sentBy(service)
      if (sent === total) return
      await sleep(100)
    }
  }

  async function sentBy(service: Service): Promise<(number | undefined)[]> {
    const { body } = await service.ask('POST', '/servers/flood/tools/sent/call', { arguments: {} })
    return String(body.content[0].text).split(' of ').map(Number)
  }

  /** The lines in the log once it is complete with the count of dropped lines, or after two minutes. */
  async function books(service: Service) {
    for (const end = performance.now() + 120_000; ; await sleep(300)) {
      const [sent = 0] = await sentBy(service)
      const { body } = await service.ask('GET', '/servers/flood')
      const dropped: number = body.log_lines_dropped
      const file = await fetch(`${service.address}/api/logs/download?server_id=flood&source=server`)
      const text = await file.text()
      const lines = text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as LogLine)
      const stored = lines.filter(({ stream }) => stream === 'stderr')
      const notices = lines.filter(({ stream }) => stream === null)
      const folded = stored.reduce((sum, { repeat }) => sum + repeat - 1, 0)
      const reported = notices.reduce((sum, { message }) => sum + Number.parseInt(message, 10), 0)
      const complete = stored.length + folded + dropped >= sent && reported >= dropped
      if (complete || performance.now() > end) return { sent, stored, folded, dropped, notices }
    }
  }
})

/** What the work costs the service. It collects its garbage all the time, so that only what is in use counts. */
async function costOf(service: Service, work: () => Promise<unknown>) {
  const before = await heldMemory(service)
  const reports = [before]
  let isOver = false
  const pending = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    reports.push(await heldMemory(service))
    await sleep(300)
  }
  await pending
  const after = await heldMemory(service)
  const during = [...reports.slice(1), after]
  return {
    grownMb: Math.max(...during.map(({ heldMb }) => heldMb)) - before.heldMb,
    workMs: after.workMs - before.workMs,
    longestStepMs: Math.max(...during.map(({ longestStepMs }) => longestStepMs)),
  }
}

const callEcho = (service: Service) =>
  service.ask('POST', '/servers/echo/tools/echo/call', { arguments: { text: 'hello' } })

/** Calls another server and requests /api/health while the work runs. */
async function observe(service: Service, work: Promise<unknown>) {
  const samples = [
    { ask: () => callEcho(service), everyMs: 1 },
    { ask: () => service.ask('GET', '/health'), everyMs: 10 },
  ]
  const [calls = [], health = []] = await sampling(work, samples, service.child.pid)
  return { calls, health }
}

/** Reads the log and requests /api/health while the work runs. */
async function watch(service: Service, work: Promise<unknown>) {
  const samples = ['/logs', '/health'].map((path) => ({
    ask: () => service.ask('GET', path),
    everyMs: runs(20, 10),
  }))
  const [logs = [], health = []] = await sampling(work, samples, service.child.pid)
  return { logs, health }
}
