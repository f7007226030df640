import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../kernel/config/config.ts'
import type { FactBus } from '../kernel/fact-bus.ts'
import { createLog, type Log, type Threshold } from '../kernel/log.ts'
import type { KnownSecrets } from '../kernel/secrets/known-secrets.ts'
import type { CallStore } from '../observe/calls/call-store.ts'
import { LogPipeline, LostLines } from '../observe/logs/log-pipeline.ts'
import type { Discarded, LogStore, StoredEntry } from '../observe/logs/log-store.ts'
import { ServerLines } from '../observe/logs/server-lines.ts'
import { AuditMirror } from '../store/audit-mirror.ts'
import type { ConfigurationDatabase } from '../store/configuration/configuration.ts'
import type { Closer } from './closer.ts'

/** Opens the stores that share a thread. */
export type OpenStores = (options: {
  readonly folder: string
  /** Whether arguments and results of calls are kept on disk. */
  readonly keepsPayloads: boolean
  readonly maxBytes: number
  readonly onTrouble: (sentence: string) => void
  /** The log was damaged and replaced by an empty one. */
  readonly onDamaged: (sentence: string) => void
  readonly onDiscarded: (lines: readonly Discarded[]) => void
}) => Promise<{
  readonly logs: LogStore
  readonly calls: CallStore
  /** Starts their thread, which otherwise waits for the first tool servers. */
  readonly start?: () => void
}>

interface Parts {
  readonly folder: string
  readonly config: Config
  readonly threshold: Threshold
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly closer: Closer
  readonly options: { readonly openStores: OpenStores; readonly warn: (sentence: string) => void }
}

const FLUSH_MS = 4_000
/** A loss counts as recent for this long. */
const RECENT_MS = 5_000

/** The log: its store, the lines of servers, and what is reported when lines are lost. */
export async function openLogging(parts: Parts) {
  const { folder, config, facts, secrets, closer, options } = parts
  let mirror: AuditMirror | undefined
  let isServer = (_: string) => false
  const copyAudit = async () => {
    try {
      await mirror?.copyMissing()
    } catch (error) {
      log.error({ error }, 'audit rows that the log has lost could not be copied to it')
    }
  }
  const lostLines = new LostLines((lines, why) => {
    options.warn(`${lines} log lines were lost: ${why}`)
    log.warn({ lines, why }, 'log lines were lost')
  })
  let lastLoss = { why: '', at: Number.NEGATIVE_INFINITY }
  const onLoss = (lines: number, why: string) => {
    lastLoss = { why, at: performance.now() }
    lostLines.add(lines, why)
  }
  // Deferred, because problems that are found while the store opens cannot be logged yet.
  const onTrouble = (sentence: string) => void setImmediate(() => log.error(sentence))
  const {
    logs: store,
    calls,
    start = () => {},
  } = await options.openStores({
    folder,
    keepsPayloads: config.call_payloads === 'disk',
    maxBytes: config.log_max_mb * 1_048_576,
    onTrouble,
    onDamaged: (sentence) => {
      onTrouble(sentence)
      void setImmediate(copyAudit)
    },
    onDiscarded: (discarded) => {
      for (const { server_id, lines } of discarded)
        if (server_id !== null && isServer(server_id)) serverLines.discarded(server_id, lines)
      const total = discarded.reduce((sum, { lines }) => sum + lines, 0)
      onLoss(total, 'the disk is nearly full, and the oldest lines make room for new ones')
    },
  })
  closer.add('the log store', () => store.close())
  closer.add('the call store', () => calls.close())
  const onLost = (lines: readonly StoredEntry[], error: unknown) => {
    for (const { source, server_id, repeat } of lines)
      if (source === 'server' && server_id) serverLines.lost(server_id, repeat)
    const total = lines.reduce((sum, { repeat }) => sum + repeat, 0)
    onLoss(total, error instanceof Error ? error.message : String(error))
  }
  const pipeline = new LogPipeline({ store, secrets, facts, now: Date.now, onLost })
  const push = pipeline.push.bind(pipeline)
  const serverLines: ServerLines = new ServerLines({ push, now: Date.now })
  facts.on('server_line', (line) => serverLines.add(line))
  facts.on('server_removed', ({ server_id }) => serverLines.forget(server_id))
  closer.add('the log pipeline', async () => {
    serverLines.flush()
    lostLines.flush()
    await Promise.race([pipeline.flush(), sleep(FLUSH_MS, undefined, { ref: false })])
    lostLines.flush() // of the last lines; the terminal shows it
  })
  const log: Log = createLog(push, parts.threshold)
  return {
    log,
    store,
    calls,
    /** Starts the thread of both stores now, because they will be read. */
    startStores: start,
    pipeline,
    serverLines,
    /** Why log lines cannot be stored, or were lost in the last seconds; undefined while none are. */
    lossReason: () =>
      pipeline.failure ?? (performance.now() - lastLoss.at < RECENT_MS ? lastLoss.why : undefined),
    /** Copies audit rows into the log from now on, and those that it has lost. */
    mirrorAudit(database: ConfigurationDatabase, isKnownServer: typeof isServer): void {
      isServer = isKnownServer
      mirror = new AuditMirror({ database, facts, logs: store, write: push, flush: () => pipeline.flush() })
      const mirrored = copyAudit()
      closer.add('the audit mirror', () => mirrored)
    },
  }
}
