import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/api/http/app.ts'
import { AccessToken, Guesses } from '../src/api/http/auth.ts'
import { EarlyListener } from '../src/api/http/early-listener.ts'
import { createLog } from '../src/kernel/log.ts'
import { metricsRoutes } from '../src/observe/metrics/metrics.routes.ts'
import { createMetrics, type Metrics } from '../src/observe/metrics/metrics.service.ts'
import { type Event, Recorder } from '../src/observe/metrics/record/recorder.ts'
import { Sketch } from '../src/observe/metrics/sketch/quantile-sketch.ts'
import { MetricsDatabase } from '../src/store/metrics/metrics-database.ts'
import { randomFrom } from '../test/support/random.ts'
import { median } from './statistics.ts'

const EVENTS = 500_000
const BATCH = 1000
const SERIES = 100
const ROUNDS = 5

/** Recording in batches as `POST /api/metrics/record` does, stored every 10 s of event time, compared with a loop that only counts. */
export async function run(): Promise<{ title: string; rows: Record<string, string | number>[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  try {
    const events = made()
    const rounds: Figures[] = []
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push({
        bare: bareLoop(events),
        sketch: sketchLoop(events),
        ...(await recording(events, join(folder, `${round}.db`))),
      })
    const of = (name: keyof Figures) => median(rounds.map((round) => round[name]))
    const perS = (ns: number) => Math.round(1e9 / ns)
    const row = (what: string, ns: number) => ({ what, 'ns per event': Math.round(ns), 'events/s': perS(ns) })
    return {
      title: `Metrics: ${EVENTS} events in batches of ${BATCH}, ${SERIES} series (median of ${ROUNDS} rounds)`,
      rows: [
        row('bare loop that counts', of('bare')),
        row('sketch.record', of('sketch')),
        row('record, current events', of('record')),
        row('record and store', of('stored')),
        row('record, up to 15 minutes late', of('late')),
        row('POST /api/metrics/record, whole requests', of('posted')),
        { what: 'summary of 5m', µs: Math.round(of('summary')) },
        { what: 'statsOf of 100 servers, each changed', µs: Math.round(of('stats')) },
        { what: 'statsOf of 100 servers, none changed', µs: Math.round(of('statsAgain')) },
        { what: 'first summary of 24h after a restart', µs: Math.round(of('restart')) },
      ],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Figures extends Awaited<ReturnType<typeof recording>> {
  readonly bare: number
  readonly sketch: number
}

async function recording(events: readonly Event[], path: string) {
  const clock = { now: START }
  const open = () => {
    const store = new MetricsDatabase({ path, onTrouble: console.error })
    const recorder = new Recorder({
      store,
      retentionDays: 30,
      now: () => clock.now,
      onTrouble: console.error,
    })
    const metrics = createMetrics({
      recorder,
      retentionDays: 30,
      serverStatuses: () => ({ running: 1 }),
      httpServerStatuses: () => ({}),
      servers: () => [],
      hintFor: () => undefined,
      findServer: async (key) => key,
      contextTokens: () => null,
      processFigures: () => ({ cpu_pct: 0, rss_bytes: 0, event_loop_lag_ms: 0 }),
      uptimeMs: () => 0,
      now: () => clock.now,
    })
    return { store, recorder, metrics }
  }
  const { store, recorder, metrics } = open()
  let recordMs = 0
  let flushMs = 0
  for (let start = 0; start < events.length; start += BATCH) {
    const batch = events.slice(start, start + BATCH)
    clock.now = batch.at(-1)?.ts ?? clock.now
    recordMs += timed(() => recorder.record(batch))
    if (start % (20 * BATCH) === 0) flushMs += timed(() => recorder.flush())
  }
  flushMs += timed(() => recorder.flush())
  metrics.summary('5m')
  const summaries = Array.from({ length: 20 }, (_, n) => {
    clock.now += 1000
    recorder.record([{ ...(events[n] as Event), ts: clock.now }])
    return timed(() => metrics.summary('5m')) * 1000
  })
  metrics.statsOf('server-0')
  recorder.record(events.slice(0, SERIES).map((event) => ({ ...event, ts: clock.now })))
  const askAll = () => {
    for (let server = 0; server < SERIES; server += 1) metrics.statsOf(`server-${server}`)
  }
  const stats = timed(askAll)
  const statsAgain = timed(askAll)
  const late = events.slice(0, 100_000).map((event, n) => ({ ...event, ts: clock.now - (n % 900) * 1000 }))
  const lateMs = timed(() => inBatches(late, (batch) => recorder.record(batch)))
  const postedMs = await posting(metrics, events.slice(0, 50_000))
  recorder.close()
  store.close()
  const again = open()
  const restart = timed(() => again.metrics.summary('24h')) * 1000
  again.store.close()
  return {
    record: (recordMs * 1e6) / events.length,
    stored: ((recordMs + flushMs) * 1e6) / events.length,
    late: (lateMs * 1e6) / late.length,
    posted: (postedMs * 1e6) / 50_000,
    summary: median(summaries),
    stats: stats * 1000,
    statsAgain: statsAgain * 1000,
    restart,
  }
}

/** Through the HTTP API: token, JSON, schema, service. */
async function posting(metrics: Metrics, events: readonly Event[]): Promise<number> {
  const { fastify } = await buildApp({
    front: new EarlyListener({ allowedHosts: [] }),
    log: createLog(() => {}, 'fatal'),
    version: '0',
    token: new AccessToken('token'),
    headerName: 'X-SVC-Token',
    protectReads: false,
    guesses: new Guesses(() => {}),
    routes: [metricsRoutes(metrics)],
  } as Parameters<typeof buildApp>[0])
  const bodies: string[] = []
  inBatches(events, (batch) => bodies.push(JSON.stringify(batch.map(wireOf))))
  const headers = { 'content-type': 'application/json', 'x-svc-token': 'token' }
  const post = (payload: string) =>
    fastify.inject({ method: 'POST', url: '/api/metrics/record', headers, payload })
  await post(bodies[0] ?? '')
  const startedAt = performance.now()
  for (const payload of bodies) {
    const reply = await post(payload)
    if (reply.statusCode !== 202) throw new Error(reply.body)
  }
  const ms = performance.now() - startedAt
  await fastify.close()
  return ms
}

const wireOf = ({ server_id, tool, agent_type, status, value, request_bytes }: Event) => {
  return { kind: 'tool_call', server_id, tool, agent_type, status, duration_ms: value, request_bytes }
}

function bareLoop(events: readonly Event[]): number {
  const counts = new Map<string, number>()
  const ms = timed(() => {
    for (const { server_id } of events) counts.set(server_id ?? '', (counts.get(server_id ?? '') ?? 0) + 1)
  })
  return (ms * 1e6) / events.length
}

function sketchLoop(events: readonly Event[]): number {
  const sketch = new Sketch()
  const ms = timed(() => {
    for (const { value } of events) sketch.record(value ?? 0)
  })
  return (ms * 1e6) / events.length
}

const START = Date.UTC(2026, 10, 1)

/** 2,000 events a second over four minutes with lognormal durations; one in a hundred is an error. */
function made(): Event[] {
  const random = randomFrom(1)
  return Array.from({ length: EVENTS }, (_, n) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const failed = random() < 0.01
    return {
      ts: START + Math.floor(n / 2),
      kind: 'tool_call',
      server_id: `server-${n % SERIES}`,
      tool: `tool-${n % SERIES}`,
      agent_type: 'cursor',
      name: null,
      labels: null,
      value: Math.exp(3 + normal),
      status: failed ? 'error' : 'ok',
      error_code: failed ? 'tool_error' : null,
      request_bytes: 100,
      response_bytes: 2000,
    } as const
  })
}

function inBatches<T>(items: readonly T[], work: (batch: readonly T[]) => void): void {
  for (let start = 0; start < items.length; start += BATCH) work(items.slice(start, start + BATCH))
}

function timed(work: () => unknown): number {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}
