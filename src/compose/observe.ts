import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Agents } from '../agents/agents.service.ts'
import { isStrong } from '../kernel/config/auth-token.ts'
import { AppError, diskFull } from '../kernel/errors.ts'
import { redactText } from '../kernel/secrets/known-secrets.ts'
import { VERSION } from '../kernel/version.ts'
import { CallHistory, logCalls } from '../observe/calls/call-history.ts'
import { CallPayloads } from '../observe/calls/call-payloads.ts'
import { createCalls } from '../observe/calls/calls.service.ts'
import { createSavedCalls } from '../observe/calls/saved-calls.service.ts'
import { createEvents, type Events } from '../observe/events/events.service.ts'
import { StatusRecorder } from '../observe/events/status-recorder.ts'
import { createHealth, type HealthCheck } from '../observe/health/health.service.ts'
import { createLive, type Live } from '../observe/live/live.service.ts'
import { createMetrics, type Metrics } from '../observe/metrics/metrics.service.ts'
import { ProcessSampler } from '../observe/metrics/own-process-sampler.ts'
import { Recorder } from '../observe/metrics/record/recorder.ts'
import { settingsWarning, weakToken } from '../observe/notices/notice-causes.ts'
import { Notices } from '../observe/notices/notices.service.ts'
import type { Packages } from '../servers/packages/packages.service.ts'
import { createCallRecorder } from '../servers/shared/call-recorder.ts'
import type { Catalogues } from '../servers/shared/catalogues.ts'
import type { Upstreams } from '../servers/shared/upstreams.ts'
import { auditEvents, saveStatusChanges, statusEvents } from '../store/events.store.ts'
import { MetricsDatabase } from '../store/metrics/metrics-database.ts'
import { openNoticeStore } from '../store/notices.store.ts'
import { openSavedCalls } from '../store/saved-calls.store.ts'
import { findOrphans } from '../supervisor/orphans/orphans.ts'
import type { Basics } from './basics.ts'
import type { Runtime } from './stdio-runtime.ts'

interface MetricsDeps {
  readonly upstreams: Upstreams
  /** The tokens that the agent's tool list takes in its context; null for an agent without a key. */
  readonly contextTokens: (agentType: string) => number | null
}

/** The metrics and the live stream. */
export function openMetrics(
  { config, folder, facts, log, closer, table, uptimeMs }: Basics,
  { upstreams, contextTokens }: MetricsDeps,
): { metrics: Metrics; live: Live } {
  const retentionDays = config.metrics_retention_days
  const servers = () => upstreams.all().map(({ id, kind, status }) => ({ server_id: id, type: kind, status }))
  const onWarning = (message: string) => log.warn(message)
  const store = new MetricsDatabase({ path: join(folder, 'metrics.db'), onTrouble: onWarning })
  closer.add('the metrics store', () => store.close())
  const onTrouble = (message: string, error: unknown) => log.error({ error }, message)
  const recorder = new Recorder({ store, retentionDays, now: Date.now, servers, onTrouble })
  closer.add('the metrics', () => recorder.close())
  recorder.listen(facts)
  const sampler = new ProcessSampler()
  closer.add('the process figures', () => sampler.close())
  const statuses = (type: 'stdio' | 'http') => () =>
    countsByStatus(servers().filter((each) => each.type === type))
  const metrics = createMetrics({
    recorder,
    retentionDays,
    serverStatuses: statuses('stdio'),
    httpServerStatuses: statuses('http'),
    servers,
    findServer: async (key: string, kind?: 'http') => table.idOf(key, kind),
    hintFor: (key: string, kind?: 'http') => upstreams.hintFor(key, kind),
    processFigures: () => sampler.figures(),
    contextTokens,
    uptimeMs,
    now: Date.now,
  })
  const summary = () => metrics.summary('5m')
  const live = createLive({ facts, version: VERSION, home: homedir(), summary, servers, now: Date.now })
  return { metrics, live }
}

function countsByStatus(servers: readonly { status: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of servers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

interface NoticesDeps {
  readonly upstreams: Upstreams
  readonly catalogues: Catalogues
  /** Undefined until all servers and packages are loaded. */
  readonly packages: () => Pick<Packages, 'states'> | undefined
  readonly agents: Pick<Agents, 'fileTroubles'>
  readonly runtime: Pick<Runtime, 'platform' | 'mark'>
  /** What the start reported. */
  readonly warnings: readonly string[]
  readonly token: { readonly value: string }
}

/** The notices, and the health check that repeats them. */
export async function openNotices(
  { config, database, facts, secrets, log, closer, logging, token, uptimeMs }: Basics,
  deps: NoticesDeps,
): Promise<{ notices: Notices; health: HealthCheck }> {
  const { upstreams, catalogues, packages, agents, runtime } = deps
  /** Those about a weak token. They are over when the token was replaced by a strong one. */
  const tokenWarnings = token.file === null ? token.warnings : []
  const diskIsFull = () => !database.reserve.hasRoom()
  const notices = await Notices.open({
    facts,
    upstreams,
    heldTools: config.hold_changed_tools ? (id) => [...catalogues.held(id).keys()] : undefined,
    agentFiles: (agentType) => agents.fileTroubles(agentType),
    isComplete: () => packages() !== undefined,
    packages: () => packages()?.states() ?? [],
    orphans: () => findOrphans({ table: runtime.platform.table, mark: runtime.mark }),
    diskIsFull,
    logFailure: logging.lossReason,
    settings: () =>
      deps.warnings.flatMap((text) => {
        if (!tokenWarnings.includes(text)) return settingsWarning(text)
        return isStrong(deps.token.value) ? [] : weakToken(text)
      }),
    store: await openNoticeStore(database),
    redact: (text) => redactText(text, secrets),
    now: Date.now,
    clock: () => performance.now(),
    onError: (error) => log.error({ error }, 'notices could not be saved'),
  })
  closer.add('the notices', () => notices.close())
  const disk = async () => {
    if (diskIsFull()) throw diskFull('The disk that holds the data folder is full')
  }
  const logCheck = async () => {
    await logging.store.check()
    if (logging.pipeline.failure !== undefined) throw new Error(logging.pipeline.failure)
  }
  const checks = { store: () => database.check(), logs: logCheck, disk }
  const health = createHealth({ version: VERSION, notices: () => notices.health(), checks, uptimeMs })
  return { notices, health }
}

/** The history of changes, states and notices. Records the states of servers from now on. */
export function openEvents({ database, facts, secrets, log, closer }: Basics, notices: Notices): Events {
  const recorder = new StatusRecorder({
    facts,
    save: (changes) => saveStatusChanges(database, changes),
    redact: (text) => redactText(text, secrets),
    now: Date.now,
    onError: (error) => {
      // A full disk has a notice of its own.
      if (error instanceof AppError && error.code === 'disk_full') return
      log.error({ error }, 'states of servers could not be saved')
    },
  })
  closer.add('the record of states', () => recorder.close())
  const states = statusEvents(database)
  return createEvents({
    sources: {
      audit: auditEvents(database),
      server_status: { ...states, page: async (query) => recorder.flush().then(() => states.page(query)) },
      notice: notices.events,
    },
    now: Date.now,
  })
}

/** Records calls, and connects their history, payloads and saved calls. */
export async function openCalls(basics: Basics, upstreams: Upstreams) {
  const { config, database, vault, facts, secrets, log, threshold, closer, logging } = basics
  const store = logging.calls
  const mode = config.call_payloads
  const now = Date.now
  logCalls(facts, log, threshold)
  const onLost = (error: unknown) => log.warn({ error }, 'calls could not be stored')
  const history = new CallHistory({ store, facts, onLost })
  closer.add('the call history', () => history.flush())
  const onError = (error: unknown) => log.warn({ error }, 'arguments and results of calls could not be kept')
  const payloads =
    mode === 'off' ? undefined : new CallPayloads({ mode, store, secrets, vault, now, onError })
  closer.add('the payloads of calls', () => payloads?.close())
  const recorder = createCallRecorder({
    facts,
    now,
    redact: (text) => redactText(text, secrets),
    keep: payloads?.keep.bind(payloads),
  })
  // Not awaited, because the store thread starts at the same time. Only a clock that was set back makes it matter.
  void store.highestId().then(
    (id) => recorder.startAfter(id),
    (error: unknown) => log.warn({ error }, 'the call history could not be read'),
  )
  const calls = createCalls({
    store,
    history,
    payloads,
    facts,
    now,
    call: async (server_id, call) => {
      await upstreams.refreshFor(server_id, call.tool)
      return upstreams.call(server_id, call)
    },
  })
  const saved = createSavedCalls({ store: await openSavedCalls(database, vault), now })
  return { recorder, calls, saved }
}
