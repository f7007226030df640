import { expect, test } from 'vitest'
import { WINDOW, WINDOWS, type WindowName } from '../../src/observe/metrics/metric-history.ts'
import { randomFrom } from '../support/random.ts'
import { AUTHORISED as headers, openTestService } from '../support/test-service.ts'

const CALLS = 6000
const BATCH = 1000
/** Five tools on each of two servers. */
const TOOLS = 10
/** The documented accuracy: a percentile is at most 1 % off. The API rounds to a microsecond. */
const WITHIN = 0.01
const ROUNDING_MS = 0.0006

interface Call {
  readonly ts: number
  readonly server_id: string
  readonly tool: string
  readonly agent_type: string
  readonly duration_ms: number
}

type Latency = Record<'p50' | 'p90' | 'p95' | 'p99' | 'max', number | null>
const SHARE = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, max: 1 } as const

test('p50, p90, p95, p99 and max of 6000 calls, wherever the API shows them, are those of the sorted durations within 1 %', async () => {
  const service = await openTestService()
  const get = async (path: string) => {
    const reply = await service.inject(`/api${path}`)
    expect(reply.statusCode, reply.body).toBe(200)
    return reply
  }
  const add = async (path: string, body: object) =>
    expect((await service.inject({ method: 'POST', url: `/api${path}`, headers, body })).statusCode).toBe(201)
  await add('/servers', { name: 'local', command: 'x' })
  await add('/http-servers', { name: 'remote', url: 'http://127.0.0.1:9/mcp' })

  const calls = made(Date.now())
  for (let at = 0; at < CALLS; at += BATCH) {
    const body = calls.slice(at, at + BATCH).map(({ ts, ...call }) => {
      return { kind: 'tool_call', status: 'ok', ts: new Date(ts).toISOString(), ...call }
    })
    const reply = await service.inject({ method: 'POST', url: '/api/metrics/record', headers, body })
    expect(reply.json()).toEqual({ accepted: BATCH })
  }

  for (const window of WINDOWS) {
    const summary = (await get(`/metrics/summary?window=${window}`)).json()
    const inWindow = latest(calls, window, summary.calls.total)
    expectLatency(summary.latency_ms, inWindow, `summary ${window}`)
    const allTools = (await get(`/metrics/tools?window=${window}`)).json().items
    for (const tools of [summary.top_tools, summary.slowest_tools, allTools]) {
      expect(tools, window).toHaveLength(TOOLS)
      for (const figures of tools)
        expectFigures(figures, inWindow.filter(sameTool(figures)), `${figures.tool} ${window}`)
    }
    for (const agents of [summary.agents, (await get(`/metrics/agents?window=${window}`)).json().items]) {
      expect(agents, window).toHaveLength(new Set(inWindow.map(({ agent_type }) => agent_type)).size)
      for (const figures of agents)
        expectFigures(figures, inWindow.filter(sameAgent(figures)), `${figures.agent_type} ${window}`)
    }
    for (const path of [
      '/metrics/servers/local',
      '/metrics/servers/remote',
      '/http-servers/remote/metrics',
    ]) {
      const figures = (await get(`${path}?window=${window}`)).json()
      const own = inWindow.filter(({ server_id }) => server_id === figures.server_id)
      expectFigures(figures, own, `${path} ${window}`)
      expectPoints(figures.series, own, window)
    }
    expectPoints((await get(`/metrics/timeseries?window=${window}`)).json().points, inWindow, window)
  }
  const { points } = (await get('/metrics/timeseries?window=7d&step=1d&tool=tool-1')).json()
  const ofTool = calls.filter(({ tool }) => tool === 'tool-1')
  expect(ofTool.length).toBeGreaterThan(1000)
  expectPoints(points, ofTool, '7d')

  const day = latest(calls, '24h', (await get('/metrics/summary?window=24h')).json().calls.total)
  for (const [path, id] of [
    ['/servers/local', 'local'],
    ['/http-servers/remote', 'remote'],
  ] as const) {
    const { stats } = (await get(path)).json()
    const own = day.filter(({ server_id }) => server_id === id)
    expect(stats.calls).toBe(own.length)
    expectNear(stats.p50_ms, rank(own, 0.5), `${path} p50`)
    expectNear(stats.p95_ms, rank(own, 0.95), `${path} p95`)
  }
})

test('the quantiles and the histogram for Prometheus are those of the sorted values within the accuracy of the sketch', async () => {
  const service = await openTestService()
  const calls = made(Date.now())
  const events = calls.flatMap(({ duration_ms, server_id, tool }) => [
    { kind: 'custom', name: 'queue', value: duration_ms },
    { kind: 'tool_call', status: 'ok', duration_ms, server_id, tool },
  ])
  for (let at = 0; at < events.length; at += BATCH)
    await service.inject({
      method: 'POST',
      url: '/api/metrics/record',
      headers,
      body: events.slice(at, at + BATCH),
    })
  const text = (await service.inject('/api/metrics/prometheus')).body
  for (const share of [0.5, 0.9, 0.99]) {
    const shown = Number(
      new RegExp(`^toolroom_custom\\{name="queue",quantile="${share}"\\} (\\S+)$`, 'm').exec(text)?.[1],
    )
    expectNear(shown, rank(calls, share), `quantile ${share}`)
  }
  const buckets = [...text.matchAll(/^mcp_client_operation_duration_seconds_bucket\{(.*)\} (\d+)$/gm)]
  expect(buckets.length).toBeGreaterThan(10)
  for (const [, labels = '', count] of buckets) {
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1]
    const limitMs = label('le') === '+Inf' ? Number.POSITIVE_INFINITY : Number(label('le')) * 1000
    const own = calls.filter(
      (call) => call.server_id === label('server_id') && call.tool === label('gen_ai_tool_name'),
    )
    const upTo = (ms: number) => own.filter(({ duration_ms }) => duration_ms <= ms).length
    expect(Number(count), labels).toBeGreaterThanOrEqual(upTo(limitMs * 0.98))
    expect(Number(count), labels).toBeLessThanOrEqual(upTo(limitMs * 1.02))
  }
})

/** Oldest first. Every window contains calls that the next smaller one does not, none of them near its start. */
function made(now: number): Call[] {
  const random = randomFrom(11)
  const calls = Array.from({ length: CALLS }, (_, index) => {
    const name = WINDOWS[index % WINDOWS.length] as WindowName
    const smaller = WINDOWS[WINDOWS.indexOf(name) - 1]
    const [from, to] = [smaller ? WINDOW[smaller].ms * 1.2 : 1000, WINDOW[name].ms * 0.5]
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return {
      ts: Math.floor(now - from - random() * (to - from)),
      server_id: index % 3 === 0 ? 'remote' : 'local',
      tool: `tool-${index % 5}`,
      agent_type: index % 2 === 0 ? 'cursor' : 'codex',
      duration_ms: Math.round(Math.exp(4 + 1.5 * normal) * 1000) / 1000,
    }
  })
  return calls.sort((a, b) => a.ts - b.ts)
}

/** The calls in a window. Their number is certain, because none is near the start of any window. */
function latest(calls: readonly Call[], window: WindowName, total: number): readonly Call[] {
  const index = WINDOWS.indexOf(window) + 1
  expect(total, window).toBe((CALLS / WINDOWS.length) * index)
  return calls.slice(-total)
}

const sameTool = (one: { server_id: string; tool: string }) => (call: Call) =>
  call.server_id === one.server_id && call.tool === one.tool
const sameAgent = (one: { agent_type: string }) => (call: Call) => call.agent_type === one.agent_type

/** The nearest rank: the smallest duration that at least this share of the durations does not exceed. */
function rank(calls: readonly Call[], share: number): number {
  const sorted = calls.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
}

function expectFigures(
  figures: { calls: { total: number }; latency_ms: Latency },
  calls: readonly Call[],
  what: string,
): void {
  expect(figures.calls.total, what).toBe(calls.length)
  expectLatency(figures.latency_ms, calls, what)
}

function expectLatency(shown: Latency, calls: readonly Call[], what: string): void {
  for (const [name, share] of Object.entries(SHARE))
    expectNear(shown[name as keyof Latency], rank(calls, share), `${what} ${name}`)
}

function expectNear(shown: number | null, right: number, what: string): void {
  expect(Math.abs((shown ?? Number.NaN) - right), `${what}: ${shown}, not ${right}`).toBeLessThanOrEqual(
    right * WITHIN + ROUNDING_MS,
  )
}

/** Each point shows the calls from its time to the next one. */
function expectPoints(
  points: readonly (Latency & { ts: string; calls: number })[],
  calls: readonly Call[],
  window: WindowName,
) {
  const stepMs = Date.parse(points[1]?.ts ?? '') - Date.parse(points[0]?.ts ?? '')
  for (const point of points) {
    const from = Date.parse(point.ts)
    const own = calls.filter(({ ts }) => ts >= from && ts < from + stepMs)
    expect(point.calls, `${window} ${point.ts}`).toBe(own.length)
    if (own.length > 0) expectLatency(point, own, `${window} ${point.ts}`)
    else expect(point).toMatchObject({ p50: null, p99: null, max: null })
  }
}
