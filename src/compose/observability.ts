import { homedir } from 'node:os'
import { join } from 'node:path'
import type { FactBus } from '../kernel/facts.ts'
import type { Log } from '../kernel/log.ts'
import { VERSION } from '../kernel/version.ts'
import { createLive, type Live } from '../observe/live/live.service.ts'
import { createMetrics, type Metrics } from '../observe/metrics/metrics.service.ts'
import { ProcessSampler } from '../observe/metrics/process-figures.ts'
import { Recorder } from '../observe/metrics/record/recorder.ts'
import { MetricsDatabase } from '../store/metrics/metrics-database.ts'
import type { Closer } from './closer.ts'

interface Deps {
  readonly folder: string
  readonly retentionDays: number
  readonly facts: FactBus
  readonly log: Log
  readonly closer: Closer
  readonly uptimeMs: () => number
  /** All servers of both kinds, with their status. */
  readonly servers: () => readonly { server_id: string; type: 'stdio' | 'http'; status: string }[]
  /** The id of the server that has this id or name. */
  readonly findServer: (key: string, kind?: 'http') => Promise<string | undefined>
  readonly hintFor: (key: string, kind?: 'http') => string | undefined
  /** The tokens that the agent's tool list takes in its context; null for an agent without a key. */
  readonly contextTokens: (agentType: string) => number | null
}

/** The metrics and the live stream. */
export function openObservability(deps: Deps): { metrics: Metrics; live: Live } {
  const { folder, retentionDays, facts, log, closer, servers } = deps
  const store = new MetricsDatabase({
    path: join(folder, 'metrics.db'),
    onTrouble: (message) => log.warn(message),
  })
  closer.add('the metrics store', () => store.close())
  const onTrouble = (message: string, error: unknown) => log.error({ error }, message)
  const recorder = new Recorder({ store, retentionDays, now: Date.now, servers, onTrouble })
  closer.add('the metrics', () => recorder.close())
  recorder.listen(facts)
  const sampler = new ProcessSampler()
  closer.add('the process figures', () => sampler.close())
  const statuses = (type: 'stdio' | 'http') => () => counted(servers().filter((each) => each.type === type))
  const metrics = createMetrics({
    recorder,
    retentionDays,
    serverStatuses: statuses('stdio'),
    httpServerStatuses: statuses('http'),
    servers,
    findServer: deps.findServer,
    hintFor: deps.hintFor,
    processFigures: () => sampler.figures(),
    contextTokens: deps.contextTokens,
    uptimeMs: deps.uptimeMs,
    now: Date.now,
  })
  const summary = () => metrics.summary('5m')
  const live = createLive({
    facts,
    version: VERSION,
    home: homedir(),
    summary,
    servers: () => [...servers()],
    now: Date.now,
  })
  return { metrics, live }
}

function counted(servers: readonly { status: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of servers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
