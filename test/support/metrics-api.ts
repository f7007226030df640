import { onTestFinished } from 'vitest'
import { buildApp } from '../../src/api/http/app.ts'
import { AccessToken, Guesses } from '../../src/api/http/auth.ts'
import { EarlyListener } from '../../src/api/http/early-listener.ts'
import { createLog } from '../../src/kernel/log.ts'
import { metricsRoutes } from '../../src/observe/metrics/metrics.routes.ts'
import { createMetrics } from '../../src/observe/metrics/metrics.service.ts'
import { openRecorder, ownClock } from './metrics.ts'

const TOKEN = 'the token of this test'
const AUTHORISED = { 'x-svc-token': TOKEN }
export const FIGURES = { cpu_pct: 1.5, rss_bytes: 90_000_000, event_loop_lag_ms: 0.2 }

/** A tool call and a custom metric, as a program records them. */
export const CALL = { kind: 'tool_call', server_id: 'docs', tool: 'search', duration_ms: 10, status: 'ok' }
export const CUSTOM = { kind: 'custom', name: 'queue', value: 3 }

/** The HTTP app with the metrics routes. */
export async function openMetrics() {
  const clock = ownClock()
  const statuses = new Map([
    ['docs', 'running'],
    ['quiet', 'stopped'],
  ])
  const servers = () => [...statuses].map(([server_id, status]) => ({ server_id, status }))
  const { recorder } = openRecorder({ now: clock.now, elapsed: clock.steady, servers })
  const metrics = createMetrics({
    recorder,
    retentionDays: 30,
    serverStatuses: () => ({ running: 2, stopped: 1 }),
    httpServerStatuses: () => ({ connected: 1 }),
    servers,
    hintFor: () => undefined,
    findServer: async (key) => ({ docs: 'docs', Docs: 'docs', quiet: 'quiet' })[key],
    contextTokens: () => null,
    processFigures: () => FIGURES,
    uptimeMs: () => 61_900,
    now: clock.now,
  })
  const { fastify } = await buildApp({
    front: new EarlyListener({ allowedHosts: [] }),
    log: createLog(() => {}, 'fatal'),
    version: '0',
    token: new AccessToken(TOKEN),
    headerName: 'X-SVC-Token',
    protectReads: false,
    guesses: new Guesses(() => {}),
    routes: [metricsRoutes(metrics)],
  } as Parameters<typeof buildApp>[0])
  onTestFinished(() => fastify.close())
  const get = async (path: string) => fastify.inject(`/api/metrics/${path}`)
  const post = (payload: string | object, headers: Record<string, string> = AUTHORISED) =>
    fastify.inject({
      method: 'POST',
      url: '/api/metrics/record',
      headers: { 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
  return { clock, statuses, recorder, metrics, get, post, inject: fastify.inject.bind(fastify) }
}
